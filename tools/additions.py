"""One more of each thing, as a person would add it by hand: what tools/places.py tries and counts."""

from __future__ import annotations

from addition import Addition
from additions_engine import boot_knob, live_knob, load_column, process_knob
from additions_python import export_format, host_kind, search_method, verb

SPIN = ("--host", "sim:drift", "--seed", "1", "--quiet")

TABLE = (
    Addition(
        "live knob",
        2,
        live_knob,
        ((("knobs", "dirty_ratio"), "write its pages to the disk"), (("knobs",), "dirty_ratio")),
        ("tests/unit/nouns/test_tables.py",),
        "test_tables",
        "knob::",
    ),
    Addition(
        "process knob",
        2,
        process_knob,
        (
            (("knobs", "core_limit"), "setrlimit(2)"),
            (
                ("run", "--runs", "2", "--set", "core_limit=4096", "--output", "inherit", "--shell", "ulimit -c"),
                "8\n8\n",
            ),
        ),
        ("tests/unit/nouns/test_tables.py",),
        "test_tables",
        "knob::",
    ),
    Addition(
        "boot knob",
        2,
        boot_knob,
        ((("knobs", "skew_tick"), "timer interrupts of all CPUs"),),
        ("tests/unit/nouns/test_tables.py",),
        "test_tables",
        "knob::",
    ),
    Addition(
        "load column",
        2,
        load_column,
        (
            (("run", "--runs", "3", "--", "sleep", "0.15"), "sleep 0.15"),
            (("export", "last", "--format", "csv"), "load_compactions"),
        ),
        (
            "tests/contract/conformance/test_load_columns.py",
            "tests/unit/nouns/test_tables.py",
            "tests/unit/load/test_record.py",
        ),
        "[compactions]",
        "load::",
    ),
    Addition(
        "search method",
        2,
        search_method,
        (
            (("tune", "--help"), "coin"),
            (("tune", *SPIN[:4], "--method", "coin", "--budget", "none", "--", "spin", "1s"), "Coins were thrown"),
        ),
        ("tests/unit/conformance/test_methods.py",),
        "[coin]",
    ),
    Addition(
        "export format",
        2,
        export_format,
        (
            (("run", *SPIN, "--runs", "20", "--", "spin", "20ms"), "spin 20ms"),
            (("export", "last", "--format", "ns"), "\n"),
            (("export", "--help"), "ns"),
        ),
        ("tests/unit/report/formats",),
        "test_formats",
    ),
    Addition(
        "verb that measures",
        4,
        verb,
        (
            (("total", *SPIN, "--runs", "20", "spin 20ms"), "20 runs of spin 20ms took"),
            (("total", *SPIN[:4], "--runs", "20", "--markdown", "spin 20ms"), "| `spin 20ms` | 20 |"),
            (("show", "last"), "20 runs of spin 20ms took"),
            (("show", "--json"), '"kind": "total"'),
            (("export", "--format", "html"), "20 runs of spin 20ms took"),
            (("list", "--kind", "total"), "spin 20ms"),
            (("--help",), "How long all runs take together."),
        ),
        ("tests/unit/test_interface.py", "tests/unit/test_public_names.py", "tests/unit/test_house.py"),
        "[total]",
    ),
    Addition(
        "host kind",
        2,
        host_kind,
        (
            (("run", "--host", "times", "--runs", "5", "--", "anything"), "1.000 ms"),
            (("run", "--help"), "times:FILE"),
        ),
        ("tests/contract/conformance/test_hosts.py", "-k", "times or null or sim"),
        "[times]",
    ),
)
"""One row a family."""
