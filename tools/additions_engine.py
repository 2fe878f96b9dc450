"""One more knob of each scope, and one more load column: written into the engine."""

from __future__ import annotations

from pathlib import Path

from addition import before

CATALOGUE = "crates/becalm-core/src/knob/catalogue.rs"


def live_knob(tree: Path) -> None:
    """A file of /proc/sys: one row."""
    before(
        tree,
        CATALOGUE,
        '    Knob { name: "swappiness"',
        """\
    Knob { name: "dirty_ratio", domain: range(0, 100, "%", Linear), tuned_value: Some("40"),
        act: &File(&[("/proc/sys/vm/dirty_ratio", PLAIN)]),
        rationale: "from which share of memory on a program must write its pages to the disk itself",
        costs: "more memory is held by files", source: "Documentation/admin-guide/sysctl/vm.rst", ..ROW },
""",
    )


def process_knob(tree: Path) -> None:
    """A resource limit: the system call, and a row."""
    before(
        tree,
        "crates/becalm-core/src/knob/process.rs",
        "/// ioprio_set(2);",
        """\
/// setrlimit(2): bytes of a core dump.
pub fn limit_core(to: &Operand) -> bool {
    let limit = libc::rlimit { rlim_cur: to.number as u64, rlim_max: to.number as u64 };
    // SAFETY: the structure outlives the call.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &limit) == 0 }
}

""",
    )
    before(
        tree,
        CATALOGUE,
        '    Knob { name: "slice_ns"',
        """\
    Knob { name: "core_limit", scope: Process, domain: range(0, 1_000_000_000, "bytes", Linear),
        act: &InChild(process::number, process::limit_core),
        rationale: "a crash that writes no core dump ends at once", costs: "nothing to look at after a crash",
        privilege: "", privileged: Privileged::None, source: "setrlimit(2)", ..ROW },
""",
    )


def boot_knob(tree: Path) -> None:
    """A kernel parameter: one row."""
    before(
        tree,
        CATALOGUE,
        '    Knob { name: "mitigations"',
        """\
    Knob { name: "skew_tick", scope: Boot, tuned_value: Some("1"), domain: words(&["0", "1"]),
        act: &AtBoot(Words { words: &["skew_tick={}"], ..WORDS }),
        rationale: "timer interrupts of all CPUs at one moment contend for the same locks",
        costs: "more power", source: "Documentation/admin-guide/kernel-parameters.txt", ..ROW },
""",
    )


def load_column(tree: Path) -> None:
    """A counter of /proc/vmstat: a row, and the field of the noun."""
    before(
        tree,
        "crates/becalm-core/src/load/table.rs",
        "];\n\n/// So many columns there are.",
        """\
    Column {
        name: "compactions",
        unit: "events",
        source: "vmstat",
        metric: "becalm_compactions_total",
        meaning: "stalls of programs for memory in one piece (direct compaction)",
        take: sum(&["compact_stall"], Each::One),
        ..MACHINE
    },
""",
    )
    before(
        tree,
        "python/becalm/load/record.py",
        "\n\nLOAD_COLUMNS =",
        "    compactions: int | None = None\n",
    )
