"""Profiles that somebody wrote by hand: read, or refused in a sentence; what was read is written and read the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.property.fuzz.edits import damaged, examples

from becalm import profiles
from becalm.errors import UsageError

GOOD = profiles.text(profiles.load("llvm-tips")) + '\n[machine]\nname = "bench"\n'
VALUES = st.one_of(st.text(max_size=12), st.integers(-(2**63), 2**63 - 1), st.booleans())


def read(text):
    """Return the profile, or None where it was refused in a sentence."""
    try:
        return profiles.parse(text, "p.toml", "p")
    except UsageError as refusal:
        message = str(refusal)
    assert message.endswith((".", "?"))
    assert "p.toml" in message
    return None


@examples(60, 1000)
@given(damaged(GOOD))
def test_a_damaged_profile_is_read_or_refused(text):
    profile = read(text)
    if profile is not None:
        assert profiles.parse(profiles.text(profile), "again", "again") == profile


@examples(60, 1000)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    read(text)


@examples(60, 1000)
@given(st.dictionaries(st.text(max_size=12), VALUES, max_size=5), st.text(max_size=12), st.text(max_size=12))
def test_any_profile_is_refused_or_written_and_read_again(values, name, description):
    texts = (name, description, *values, *values.values())
    try:
        profile = profiles.Profile(name, profiles.Settings.of(values), description, {"kernel": description})
    except UsageError:
        assert not all(text.isprintable() for text in texts if isinstance(text, str))
        return
    assert profiles.parse(profiles.text(profile), "again", "again") == profile


@pytest.mark.parametrize("deep", ["a = " + "[" * 100_000, "[" + "a." * 20_000 + "a]", "settings = " + "{a=" * 50_000])
def test_nesting_without_end_is_refused(deep):
    with pytest.raises(UsageError, match=r"p\.toml"):
        profiles.parse(deep, "p.toml", "p")
