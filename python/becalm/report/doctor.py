"""The report of `becalm doctor`: the machine, advice about it, its noise floor, and missing abilities with reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from becalm.analysis.doctor_advice import fact
from becalm.report.table import Table as Cells
from becalm.report.terminal import apart
from becalm.results.doctor import Advice, Diagnosis, Noise, Overhead, Severity, SharedNoise
from becalm.wording.numbers import counted, duration, memory, percent

STYLES = {Severity.WARNING: "bold yellow", Severity.NOTE: "bold", Severity.GOOD: "bold green"}
MARKS = {Severity.WARNING: "!", Severity.NOTE: "-", Severity.GOOD: "+"}

Facts = Mapping[str, Any]


def on_terminal(diagnosis: Diagnosis, *, plain: bool = False, columns: int = 80) -> RenderableType:
    """Return the report for the terminal; `plain` uses only ASCII marks."""
    machine = _machine(diagnosis.facts)
    parts = [_header(diagnosis), *([machine] if machine.row_count else []), _measured(diagnosis)]
    if diagnosis.findings:
        parts.append(_findings(diagnosis.findings))
    parts += _abilities(diagnosis.facts, "->" if plain else "→")
    return apart(parts)


def tables(diagnosis: Diagnosis) -> Iterator[Cells]:
    """Yield the facts about the machine, then its missing abilities."""
    yield Cells("Machine", ("", ""), tuple((name, text) for name, text in _rows(diagnosis.facts) if text))
    lacking = [row for row in diagnosis.facts.get("abilities") or [] if row["have"] is not True]
    if lacking:
        rows = tuple((row["title"], row["reason"], row["way_out"] or "") for row in lacking)
        yield Cells("Missing", ("", "why", "way out"), rows)


def _header(diagnosis: Diagnosis) -> RenderableType:
    facts = diagnosis.facts
    words = [fact(facts, "host", "hostname") or diagnosis.host]
    count = fact(facts, "cpu", "count")
    words += [fact(facts, "cpu", "model") or "", counted(count, "CPU") if count else ""]
    total = fact(facts, "memory", "total_bytes")
    words += [memory(total) if total else "", f"Linux {fact(facts, 'kernel', 'release')}" if "kernel" in facts else ""]
    return Text(", ".join(word for word in words if word), "bold")


def _machine(facts: Facts) -> Table:
    table = _table()
    for name, text in _rows(facts):
        if text:
            table.add_row(name, text)
    return table


def _rows(facts: Facts) -> Iterator[tuple[str, str]]:
    yield "system", _join(fact(facts, "host", "system"), _kind(facts))
    yield (
        "processor",
        _join(
            *_counts(facts),
            _known(fact(facts, "cpu", "isolated"), "isolated: {}"),
            _known(fact(facts, "cpu", "nohz_full"), "nohz_full: {}"),
        ),
    )
    yield "caches", _caches(facts)
    yield "frequency", _frequency(facts)
    yield (
        "kernel",
        _join(
            _known(fact(facts, "kernel", "preemption"), "preemption {}"),
            _known(fact(facts, "kernel", "hz"), "{} ticks a second"),
            _known(fact(facts, "security", "lockdown"), "lockdown {}"),
            {True: "autogroup on", False: "autogroup off"}.get(fact(facts, "scheduler", "autogroup"), ""),
            _known(fact(facts, "scheduler", "slice_ns"), "slice {}", duration),
        ),
    )
    yield (
        "clock",
        _join(
            fact(facts, "clocks", "current"), _known(fact(facts, "clocks", "resolution_ns"), "resolution {}", duration)
        ),
    )
    yield "counters", _counters(facts)
    yield "memory", _memory(facts)
    yield "addresses", _addresses(facts)
    yield "rights", _rights(facts)
    yield "groups", _groups(facts)
    yield "load", _load(facts)


def _kind(facts: Facts) -> str:
    container = fact(facts, "virtualisation", "container")
    if container:
        return f"container ({container['kind']})"
    if fact(facts, "virtualisation", "guest"):
        return f"virtual machine ({fact(facts, 'virtualisation', 'hypervisor') or 'hypervisor hidden'})"
    return " ".join(word for word in (fact(facts, "virtualisation", n) for n in ("system_vendor", "product")) if word)


def _counts(facts: Facts) -> Iterator[str]:
    for name, noun in (("packages", "package"), ("cores", "core"), ("numa_nodes", "NUMA node")):
        number = fact(facts, "cpu", name)
        yield counted(number, noun) if number else ""
    threads = fact(facts, "cpu", "threads_per_core")
    yield f"{counted(threads, 'thread')} a core" if threads else ""


def _caches(facts: Facts) -> str:
    letters = {"data": "d", "instruction": "i"}
    levels = []
    for level in fact(facts, "caches", "levels") or ():
        size, lists = level["size_bytes"], level["shared_cpu_lists"]
        if size:
            times = f"{len(lists)} × " if len(lists) > 1 else ""
            levels.append(f"L{level['level']}{letters.get(level['type'], '')} {times}{memory(size).replace('.0', '')}")
    return ", ".join(levels)


def _frequency(facts: Facts) -> str:
    driver = fact(facts, "cpu", "frequency", "driver")
    if driver is None:
        return "no driver for it is at work" if "cpu" in facts else ""
    low, high = (fact(facts, "cpu", "frequency", name) for name in ("min_khz", "max_khz"))
    turbo = fact(facts, "cpu", "frequency", "turbo")
    return _join(
        f"{driver}, governor {fact(facts, 'cpu', 'frequency', 'governor') or 'unknown'}",
        f"{low / 1e6:.2f} to {high / 1e6:.2f} GHz" if low and high else "",
        {True: "turbo on", False: "turbo off"}.get(turbo, ""),
    )


def _counters(facts: Facts) -> str:
    hardware = fact(facts, "counters", "hardware")
    if not hardware:
        return ""
    usable = [name for name, state in hardware.items() if state is True]
    return (
        f"hardware: {', '.join(usable) or 'none'}; perf_event_paranoid {fact(facts, 'counters', 'perf_event_paranoid')}"
    )


def _memory(facts: Facts) -> str:
    areas = fact(facts, "memory", "swap")
    swap = None if areas is None else sum(area["size_bytes"] for area in areas)
    return _join(
        _known(fact(facts, "memory", "available_bytes"), "{} free", memory),
        "" if swap is None else f"swap {memory(swap)}" if swap else "no swap",
        _known(fact(facts, "memory", "transparent_huge_pages"), "huge pages: {}"),
    )


def _addresses(facts: Facts) -> str:
    level = fact(facts, "security", "address_randomisation")
    states = {0: "randomisation off", 1: "randomised, without the heap", 2: "randomised"}
    active = fact(facts, "security", "mitigations", "active")
    return _join(
        states.get(level, "") if isinstance(level, int) else "",
        f"mitigations: {', '.join(active)}" if active else "",
    )


def _rights(facts: Facts) -> str:
    uid = fact(facts, "privileges", "uid")
    if uid is None:
        return ""
    held = set(fact(facts, "privileges", "capabilities") or ())
    capabilities = [name for name in ("SYS_ADMIN", "SYS_NICE", "SYS_RESOURCE", "PERFMON", "BPF") if name in held]
    return _join(
        "root" if uid == 0 else f"user {uid}",
        ", ".join(capabilities) if capabilities else "no capabilities for settings",
        "sudo is there" if uid != 0 and fact(facts, "privileges", "sudo") else "",
    )


def _groups(facts: Facts) -> str:
    layout = fact(facts, "cgroups", "layout")
    if layout is None:
        return ""
    old = fact(facts, "cgroups", "controllers_v1") or []
    new = fact(facts, "cgroups", "controllers") or []
    return _join(f"cgroup {layout}", f"v2: {' '.join(new)}" if new else "", f"v1: {' '.join(old)}" if old else "")


def _load(facts: Facts) -> str:
    averages, running = fact(facts, "load", "averages"), fact(facts, "load", "running_tasks")
    pressure = fact(facts, "load", "pressure", "cpu", "some_avg10")
    return _join(
        "load average " + " ".join(f"{average:.2f}" for average in averages) if averages else "",
        f"{counted(running, 'task')} running" if running is not None else "",
        f"CPU pressure {pressure:g} %" if pressure is not None else "",
    )


def _measured(diagnosis: Diagnosis) -> RenderableType:
    table = _table()
    table.add_row("noise floor", noise(diagnosis.noise) if diagnosis.noise else f"Not measured. {diagnosis.unmeasured}")
    if diagnosis.overhead:
        table.add_row("overhead", overhead(diagnosis.overhead))
    if diagnosis.shared or diagnosis.unshared:
        text = shared(diagnosis.shared) if diagnosis.shared else f"Not measured. {diagnosis.unshared}"
        table.add_row("shared noise", text)
    return table


def noise(floor: Noise) -> str:
    """Return the noise floor in words."""
    work = f"{counted(floor.runs, 'run')} of {duration(floor.median_ns)} of the same work"
    text = f"{work} varied by {percent(floor.cv)} % (robustly {percent(floor.robust_cv)} %); "
    text += f"the slowest took {percent(floor.worst)} % longer than the median"
    if floor.lag_one is not None:
        text += f"; consecutive runs correlate by {floor.lag_one:.2f}"
    text += "."
    if floor.steal_share:
        text += f" Stolen by a hypervisor: {percent(floor.steal_share)} % of the CPU time."
    if floor.detectable is not None:
        text += (
            f" In {floor.budget_s:g} s, compare would see a difference of {percent(floor.detectable)} % between two "
            f"programs of {duration(floor.program_ns)}."
        )
    return text


SHARED, SLOWED = 0.1, 0.01
"""The correlation from which noise is called shared, and the slowdown by a twin from which it is mentioned."""

WORTH = 1.1
"""The gain in precision from which running at the same time is recommended."""


def shared(noise: SharedNoise) -> str:
    """Return the sentence on whether two CPUs share their noise, and what that gains."""
    first, second = noise.cpus
    how = "vary together" if noise.low > SHARED else "do not vary together"
    text = f"Runs on CPUs {first} and {second} at the same moment {how} (correlation {noise.correlation:.2f}, "
    text += f"95 %: {noise.low:.2f} to {noise.high:.2f})"
    if noise.slowdown is not None and noise.slowdown > max(SLOWED, 2 * (noise.slowdown_error or 0.0)):
        return f"{text}, but each takes {percent(noise.slowdown)} % longer than alone: compare programs in turns."
    if noise.gain is None:
        return f"{text}; they are too few to tell what comparing at the same time gains."
    if noise.gain < WORTH:
        return f"{text}: comparing two programs at the same time gains nothing here."
    how = f"are known {noise.gain:.1f} times as precisely as in turns"
    return f"{text}: two programs compared at the same time (--schedule auto) {how}."


def overhead(cost: Overhead) -> str:
    """Return the overhead of becalm in words."""
    bare = f"starting and waiting for an empty program by itself, which takes {duration(cost.bare_ns)}"
    middle = f"middle half {_micro(cost.low_ns)} to {_micro(cost.high_ns)} µs of {counted(cost.runs, 'pair')}"
    if cost.low_ns <= 0 <= cost.high_ns:
        return f"A measured run costs no more than {bare}, within the noise ({middle})."
    more = "more" if cost.added_ns > 0 else "less"
    return f"A measured run costs {_micro(abs(cost.added_ns))} µs {more} than {bare} ({middle})."


def _micro(ns: float) -> str:
    return f"{ns / 1e3:.0f}"


def _findings(findings: tuple[Advice, ...]) -> RenderableType:
    table = _table("Findings", mark=True)
    for finding in findings:
        text = Text(finding.what, STYLES[finding.severity])
        text.append(" ".join(["", *(part for part in (finding.matters, finding.way_out) if part)]), "default")
        table.add_row(Text(MARKS[finding.severity], STYLES[finding.severity]), text)
    return table


def _abilities(facts: Facts, arrow: str) -> list[RenderableType]:
    rows = facts.get("abilities") or []
    parts: list[RenderableType] = []
    lacking = [row for row in rows if row["have"] is not True]
    if lacking:
        table = _table("Missing")
        # Abilities with the same way out are listed together, with the way out below them.
        for way_out in dict.fromkeys(row["way_out"] for row in lacking):
            for title, reason in _reasons([row for row in lacking if row["way_out"] == way_out]):
                table.add_row(title, reason)
            if way_out:
                table.add_row("", Text(f"{arrow} {way_out}", "green"))
        parts.append(table)
    there = [row["title"] for row in rows if row["have"] is True]
    if there:
        table = _table()
        table.add_row("What is there", ", ".join(there))
        parts.append(table)
    return parts


ALIKE = 3
"""The number of files from which those refused for the same reason share a line; --json names each."""


def _reasons(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        path, _, rest = row["reason"].partition(" ")
        groups.setdefault(rest if path.startswith("/") else row["reason"], []).append(row)
    for rest, alike in groups.items():
        if len(alike) >= ALIKE and rest != alike[0]["reason"]:
            yield counted(len(alike), "setting"), f"{', '.join(row['title'] for row in alike)}: the file of each {rest}"
            continue
        for row in alike:
            yield row["title"], f"{'unknown: ' if row['have'] is None else ''}{row['reason']}"


def _table(title: str = "", mark: bool = False) -> Table:
    shape: dict[str, Any] = {"box": None, "show_header": False, "pad_edge": False, "padding": (0, 2, 0, 0)}
    table = Table(title=title or None, title_justify="left", title_style="bold", **shape)
    table.add_column(style="" if mark else "dim", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _join(*words: str | None) -> str:
    return "; ".join(word for word in words if word)


def _known(value: Any, text: str, show: Any = str) -> str:
    return "" if value in (None, "") else text.format(show(value))
