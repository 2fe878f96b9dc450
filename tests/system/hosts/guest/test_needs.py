"""The libraries that a program needs, compared with ldd(1), of installed programs."""

import os

import pytest
from tests.needs import need
from tests.support.ldd import listed

from becalm.hosts.guest.libraries import Loader


@pytest.mark.parametrize("path", ["ssh", "git"])
def test_the_libraries_of_a_program_are_those_that_ldd_lists(path):
    path = need(path)
    assert listed(path)
    assert listed(path) <= {os.path.realpath(library) for library in Loader().libraries(path)}
