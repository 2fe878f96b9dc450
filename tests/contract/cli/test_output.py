"""The output of the verbs that need becalm-sim: the same options as those of the other verbs."""

import pytest
from tests.support.no_repository import no_repository  # noqa: F401
from tests.unit.cli.test_output import (  # noqa: F401
    ENGINE,
    check_json,
    check_markdown,
    check_reports,
    here,
    written,
)


@pytest.mark.parametrize("verb", ENGINE)
def test_json_markdown_and_reports_are_those_of_other_verbs(verb, here):  # noqa: F811
    check_json(verb)
    check_markdown(verb, here)
    check_reports(verb, here)
