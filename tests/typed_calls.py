"""Calls of the verbs for type checkers: mypy takes the right ones, and reports an error for each of the wrong ones.

`make lint` checks this file, which nobody runs: an expected error that does not come is reported as an unused ignore.
"""

import becalm
from becalm.hosts import open
from becalm.line import Line
from becalm.report.export_settings.lines import file_of, put
from becalm.results.export_settings import Origin, SettingPlace, Where
from becalm.wording.printable import one_line


def right() -> None:
    """Call verbs with options of the right types."""
    becalm.compare(["a", "b"], budget="10s", warmup=2, sudo=True, expect=(0, 1)).differences  # noqa: B018
    becalm.compare(["a", "b"], hosts=["x", open("null")], budget="10s").across  # noqa: B018
    becalm.tune(["a"], cluster="local:2", margin=0.2).transfer  # noqa: B018
    becalm.run("a", host=open("null"), timeout=3.5, drop_contaminated=None)
    becalm.make_load(cpu=2, memory="512M", limit="256M", duration="1s")
    becalm.record(["a"], names=["b"], store=False, seed=1)
    becalm.record_commits("a", "v1..HEAD", build="make", user=None)
    becalm.tune(resume="last", listener=None).sentence  # noqa: B018
    becalm.tune_programs("a {n}", factors={"n": "1,2"}, where=True)


def wrong() -> None:
    """Call verbs with unknown options and with options of wrong types."""
    becalm.compare(["a", "b"], bugdet="10s")  # type: ignore[call-overload]
    becalm.compare(["a", "b"], warmup="2")  # type: ignore[call-overload]
    becalm.run("a", sudo="yes")  # type: ignore[call-overload]
    becalm.run("a", hosts=["x"]).differences  # type: ignore[attr-defined]  # noqa: B018
    becalm.tune(["a"], precision=0.1)  # type: ignore[call-overload]
    becalm.survey(["x"], rate=None)  # type: ignore[call-arg]
    becalm.check(["a", "b"], fail_above=None)  # type: ignore[arg-type]
    becalm.compare(["a", "b"], name="c")  # type: ignore[call-overload]
    becalm.bisect("v1", "v2", run="a", tasks=3)  # type: ignore[call-arg]
    becalm.record(["a"], tasks=3)  # type: ignore[call-arg]
    becalm.record_commits("a", "v1..HEAD", directory="/tmp")  # type: ignore[call-arg]
    becalm.serve_mcp(allow="look", settings={"nice": 1})  # type: ignore[call-arg]
    becalm.tune_cost(["a"], store=False)  # type: ignore[call-arg]
    becalm.place("last", chips=[0, 1])  # type: ignore[arg-type]
    becalm.design("factorial", ["a=1..2"], randomize="no")  # type: ignore[arg-type]
    becalm.recrod(["a"])  # type: ignore[operator]


def lines(text: str) -> None:
    """Give writers of files for other programs texts that were not checked."""
    Origin(Line("becalm"), text)  # type: ignore[arg-type]
    SettingPlace(Line("nice"), Where.PROGRAM, Line("Nice"), text)  # type: ignore[arg-type]
    put(Line("/proc/sys/vm/swappiness"), text)  # type: ignore[arg-type]
    file_of("systemd", Line("/x"), [text], (), (), ())  # type: ignore[list-item]
    file_of("systemd", Line("/x"), [one_line(text)], (), (), ())
