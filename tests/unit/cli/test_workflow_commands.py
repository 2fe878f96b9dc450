"""Workflow commands of GitHub: what a program or a name says is none, however it is divided."""

import io
import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm.cli.workflow_commands import UNSEEN, Guarded, command, guard
from becalm.report.program_output import OutputListener

PIECES = st.lists(
    st.sampled_from(["::", ":", "##[", "#", "##", "[", "]", "error", " ", "\t", "\n", "\r\n", "\r", "a",
                     "\u200b", "\u00a0", "\u3000", "\ufeff", "\x1b[1m", "    ", "é"]),
    max_size=12,
)  # fmt: skip


def obeyed(line):
    """Return whether the runner may take a line for a command (ActionCommand.TryParseV2, TryParse)."""
    # In a comparison by ICU these have no weight.
    seen = re.sub(f"[{UNSEEN}]", "", line)
    return seen.startswith("::") or "##[" in seen


def written(pieces):
    raw = io.BytesIO()
    stream = Guarded(raw, "utf-8", newline="")
    for piece in pieces:
        assert stream.write(piece) == len(piece)
    stream.flush()
    return raw.getvalue().decode()


@given(PIECES)
def test_no_line_is_a_command_and_all_texts_can_be_told(pieces):
    text = written(pieces)
    assert not any(map(obeyed, re.split(r"[\r\n]", text)))
    assert text.replace(r"\u003a", ":").replace(r"\u005b", "[") == "".join(pieces)
    assert text == written(["".join(pieces)]), "however it is divided"


@given(st.text() | PIECES.map("".join))
def test_json_stays_the_same_value(name):
    value = {name: [name]}
    assert json.loads(written([json.dumps(value, indent=2, ensure_ascii=False)])) == value


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("    ::stop-commands::x\n", "    :\\u003astop-commands::x\n"),
        ("a ##[add-mask]b\n", "a ##\\u005badd-mask]b\n"),
        ("std::vector a[0] #[ ok ::x\n", "std::vector a[0] #[ ok ::x\n"),
        ("one\r::error::x", "one\r:\\u003aerror::x"),
        ("\u00a0\u200b::error::x", "\u00a0\u200b:\\u003aerror::x"),
    ],
)
def test_texts(text, shown):
    assert written([text]) == shown


def test_both_streams_are_guarded_where_github_runs_it(monkeypatch):
    streams = {name: io.BytesIO() for name in ("stdout", "stderr")}
    for name, raw in streams.items():
        monkeypatch.setattr(sys, name, io.TextIOWrapper(raw, "utf-8"))
    guard({"GITHUB_ACTIONS": "false"})
    assert not isinstance(sys.stdout, Guarded)
    guard({"GITHUB_ACTIONS": "true"})
    guard()
    OutputListener().wrote("stdout", "::add-mask::a\n")
    OutputListener().wrote("stderr", "  ::stop-commands::x\n")
    command("::error::own\n")
    command("::warning::own\n", err=True)
    sys.stdout.flush()
    sys.stderr.flush()
    assert streams["stdout"].getvalue() == b":\\u003aadd-mask::a\n::error::own\n"
    assert streams["stderr"].getvalue() == b"  :\\u003astop-commands::x\n::warning::own\n"


def test_a_file_gets_the_text_as_it_is(tmp_path, monkeypatch):
    with (tmp_path / "out").open("w", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdout", file)
        monkeypatch.setattr(sys, "stderr", file)
        guard({"GITHUB_ACTIONS": "true"})
        sys.stdout.write("::error::x\n")
        command("::warning::own\n")
    assert (tmp_path / "out").read_text() == "::error::x\n::warning::own\n"
