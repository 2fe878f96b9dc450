"""Names of failed tests in the output of a run."""

import soak


def test_failures_of_both_languages_are_found():
    text = """
FAILED tests/unit/store/test_store.py::test_a[x] - AssertionError
ERROR tests/contract/test_b.py::test_c
test knob::journal::restores ... FAILED

failures:
    knob::journal::restores
    a_file_is_read

test result: FAILED. 3 passed; 2 failed
    yield
"""
    assert soak.failures(text) == [
        "a_file_is_read",
        "knob::journal::restores",
        "tests/contract/test_b.py::test_c",
        "tests/unit/store/test_store.py::test_a[x]",
    ]


def test_a_run_that_passed_has_none():
    assert soak.failures("12 passed in 3 s") == []
