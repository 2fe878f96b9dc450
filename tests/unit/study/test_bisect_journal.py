"""The journal of a search in a git history."""

from becalm.study.bisect_journal import Journal


def test_a_journal_is_read_back_without_a_half_written_line():
    journal = Journal.of("repository", "good", "bad")
    assert list(journal.lines()) == []
    journal.write(kind="measured", commit="a", differences=[0.5])
    journal.write(kind="unusable", commit="b", reason="x")
    with journal.path.open("a") as file:
        file.write('{"kind": "measured", "com')
    assert [line["kind"] for line in journal.lines()] == ["measured", "unusable"]
    assert Journal.of("repository", "good", "bad").path == journal.path
    assert Journal.of("repository", "good", "worse").path != journal.path
    journal.forget()
    journal.forget()
    assert list(journal.lines()) == []
