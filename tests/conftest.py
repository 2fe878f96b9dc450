"""For all tests: what a test is marked to need is there before it begins."""

from tests import needs


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        needs.need(*mark.args)
