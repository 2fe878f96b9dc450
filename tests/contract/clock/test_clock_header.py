"""becalm_clock.h compiles as C without a warning, its arithmetic is right, and its example runs.

The same checks for C++ are in tests/system/clock/test_cpp.py, as they need a compiler for it.
"""

import subprocess

import pytest
from tests.places import ROOT

pytestmark = pytest.mark.needs("cc")

CRATE = ROOT / "crates/becalm-clock"
STRICT = ("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{CRATE / 'include'}")
C99 = ("cc", "-std=c99")


def compiled(compiler, source, program):
    """Compile a source file without a warning; return the program."""
    subprocess.run([*compiler, *STRICT, source, "-o", program], check=True)
    return program


def check_arithmetic(compiler, tmp_path):
    """Run the checks of the header's arithmetic, compiled by this compiler."""
    program = compiled(compiler, CRATE / "tests/header.c", tmp_path / "header")
    assert subprocess.run([program], check=False).returncode == 0


def check_example(compiler, tmp_path):
    """Run the example, which times a region or reports that it cannot."""
    program = compiled(compiler, CRATE / "examples/region.c", tmp_path / "region")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    if done.returncode == 1:
        assert "no clock of this processor can be used" in done.stderr
        return
    lines = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert float(lines["hz"]) > 0
    costs = [0, int(lines["smallest_cost"]), int(lines["median_cost"])]
    assert costs == sorted(costs)
    # 500 additions to memory take longer than nothing, on any machine.
    times = [int(lines["smallest_ns"]), int(lines["median_ns"])]
    assert times == sorted(times)
    assert times[0] > 0


def check_counters(compiler, tmp_path):
    """Run the checks of the counters: page faults on any machine, cycles where there are any."""
    program = compiled(compiler, CRATE / "tests/counters.c", tmp_path / "counters")
    code = subprocess.run([program], check=False).returncode
    if code == 77:
        pytest.skip("events may not be counted here")
    assert code == 0


def test_the_arithmetic_is_that_of_the_crate(tmp_path):
    check_arithmetic(C99, tmp_path)


def test_the_example_times_a_region_or_reports_that_it_cannot(tmp_path):
    check_example(C99, tmp_path)


def test_a_strict_standard_without_posix_is_refused_with_a_sentence(tmp_path):
    source = tmp_path / "late.c"
    source.write_text('#include <stdio.h>\n#include "becalm_clock.h"\nint main(void) { return 0; }\n')
    done = subprocess.run([*C99, *STRICT, source, "-o", tmp_path / "late"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "becalm_clock.h needs POSIX: include it before other headers" in done.stderr


def test_events_are_counted_alongside_the_time(tmp_path):
    # The test itself maps memory, which strict standards hide.
    check_counters((*C99, "-D_DEFAULT_SOURCE"), tmp_path)


def test_the_counters_compile_under_a_strict_standard(tmp_path):
    source = tmp_path / "strict.c"
    source.write_text('#include "becalm_counters.h"\nint main(void) { return BECALM_CYCLES; }\n')
    compiled(C99, source, tmp_path / "strict")
