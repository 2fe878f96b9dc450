"""The share of each function in a profile, from files of callgrind and the text of perf."""

import pytest

from becalm.errors import UsageError
from becalm.files.function_profile import NO_SYMBOL, callgrind_counts, perf_samples

CALLGRIND = """# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 4
positions: line
events: Ir
summary: 1146

ob=(1) /usr/lib/libc.so.6
fl=(1) malloc.c
fn=(1) malloc
10 20
+3 4
cfn=(2) _int_malloc
calls=2 40
* 1000
-1 2

fn=(2)
40 70
ob=(2) /build/old/prog
fl=(2) main.c
fn=(3) walk(Node*, int)'2
5 30
cob=(1)
cfn=(1)
calls=1 10
* 96
+2 5
fi=(3) inline.h
9 5
fe=(2)
fn=(4) parse.constprop.0
7 6
fn=(5) 0x00000000000012a0
1 4
totals: 146
"""


def test_each_function_has_its_own_instructions_without_its_callees():
    counts = callgrind_counts(CALLGRIND)
    assert counts == {
        ("malloc", "libc.so.6"): 26,
        ("_int_malloc", "libc.so.6"): 70,
        ("walk(Node*, int)", "prog"): 40,
        ("parse", "prog"): 6,
        (NO_SYMBOL, "prog"): 4,
    }
    assert sum(counts.values()) == 146


@pytest.mark.parametrize("text", ["", "hello", CALLGRIND.replace("events: Ir", "events: Ir Dr")])
def test_a_file_of_other_events_is_refused(text):
    with pytest.raises(UsageError, match="Ir as its only event"):
        callgrind_counts(text)


def test_samples_are_counted_by_function():
    text = """
     7fb257e181ac strcmp (/usr/lib/ld-linux-x86-64.so.2)
     55b480f0e330 [unknown] (/usr/bin/gzip)
     55b480f0e313 ns::walk(ns::Node*, int) const (/build/a b/prog)
     55b480f0e314 ns::walk(ns::Node*, int) const (/build/a b/prog)
     55b480f0e315 sift.isra.0.cold (/build/a b/prog)
     ffffffff0000 [unknown] ([unknown])
    """
    assert perf_samples(text) == {
        ("strcmp", "ld-linux-x86-64.so.2"): 1,
        (NO_SYMBOL, "gzip"): 1,
        ("ns::walk(ns::Node*, int) const", "prog"): 2,
        ("sift", "prog"): 1,
        (NO_SYMBOL, "[unknown]"): 1,
    }
