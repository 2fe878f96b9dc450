"""The output of programs through the agent: kept, forwarded, bounded."""

import sys
from pathlib import Path

import pytest
from tests.contract.conversation import gather, sh
from tests.samples import samples


def test_standard_error_of_a_failure_is_kept(agent):
    _, texts = agent.run(*sh("echo first; head -c 9000 /dev/zero | tr '\\0' x >&2; echo last >&2; exit 1"))
    assert texts[0]["stderr"].endswith("xlast\n")
    assert texts[0]["stderr"].startswith("[becalm stored the last 4096 of 9005 bytes]\nxxx")
    assert texts[0]["stdout"] == ""


def test_output_is_kept_when_asked(agent):
    _, texts = agent.run(*sh("echo out; echo err >&2"), output="keep")
    assert (texts[0]["stdout"], texts[0]["stderr"]) == ("out\n", "err\n")
    _, texts = agent.run(*sh("head -c 10000000 /dev/zero"), output="keep")
    assert texts[0]["stdout"].endswith("\0\n[becalm stored the first 65536 of 10000000 bytes]\n")
    assert texts[0]["stdout"].count("\0") == 65536


def test_output_is_forwarded_without_descriptors(agent):
    agent.define(*sh("echo out; echo err >&2"), output="inherit")
    events = agent.answer(agent.send("measure", first=0, steps=[[0, 0, 0, 0]]))
    forwarded = {event["stream"]: event["text"] for event in events if event["event"] == "output"}
    assert forwarded == {"stdout": "out\n", "stderr": "err\n"}


def test_a_large_standard_error_does_not_grow_the_agent(agent):
    (row,), _ = agent.run(*sh(f"head -c {samples(200_000_000, 2_000_000_000)} /dev/zero >&2"))
    assert row["outcome"] == "ok"
    status = Path(f"/proc/{agent.process.pid}/status").read_text()
    high_water_kib = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    assert high_water_kib < 8192


def test_a_program_that_closes_its_streams_or_changes_directory_does_no_harm(agent):
    rows, _ = agent.run(*sh("exec 0<&- 1>&- 2>&-; cd /proc; exit 0"), steps=3)
    assert [row["outcome"] for row in rows] == ["ok"] * 3


WRITER = """
import fcntl, os, sys
streams = [int(word) for word in sys.argv[1:]]
for stream in streams:
    fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, 1 << 20)
os.fork()
while True:
    for stream in streams:
        os.write(stream, b"x" * (1 << 20))
"""
"""Two processes that write without a pause into pipes larger than what the agent takes at once, so that it hardly ever
finds one of them empty. The agent's end is theirs."""


@pytest.mark.parametrize(("output", "streams"), [("discard", "2"), ("keep", "12"), ("inherit", "12")])
def test_a_time_limit_holds_for_a_program_that_never_stops_writing(agent, output, streams):
    writer = (sys.executable, "-I", "-S", "-c", WRITER, *streams)
    number = agent.begin(*writer, output=output, timeout_ns=200_000_000)
    rows = []
    # Event by event: all of what is forwarded would be too much to keep.
    while (event := agent.read())["event"] != "done":
        assert event["id"] == number
        rows += gather([event])[0]
    assert [row["outcome"] for row in rows] == ["timeout"]


def forwarded_outputs(agent, number):
    """Yield the forwarded texts of standard output as they come, up to the end of the block."""
    while (event := agent.read())["event"] != "done":
        assert event["id"] == number
        if event["event"] == "output" and event["stream"] == "stdout":
            yield event["text"]


def test_a_forwarded_character_is_not_cut_in_two(agent, gate):
    # é is C3 A9 in UTF-8, 😀 is F0 9F 98 80.
    script = f"""printf 'a\\303'; {gate.wait}
        printf '\\251b\\360\\237\\230'; {gate.wait}
        printf '\\200c'"""
    agent.define(*sh(script), output="inherit")
    outputs = forwarded_outputs(agent, agent.send("measure", first=0, steps=[[0, 0, 0, 0]]))
    assert next(outputs) == "a"
    gate.open(1)
    assert next(outputs) == "éb"
    gate.open(1)
    assert "".join(outputs) == "😀c"


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (r"x\377y", "x�y"),
        (r"\251\251\251\251\251", "�����"),
        # A character that is never completed is reported at the program's end.
        (r"end\303", "end�"),
    ],
)
def test_forwarded_bytes_that_are_no_characters_are_replaced(agent, written, text):
    agent.define(*sh(f"printf '{written}'"), output="inherit")
    for _ in range(2):
        outputs = forwarded_outputs(agent, agent.send("measure", first=0, steps=[[0, 0, 0, 0]]))
        assert "".join(outputs) == text, "and nothing of it comes into the next run"
