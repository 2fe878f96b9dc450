"""The C loop: built once, checked by arithmetic, and calibrated to a wanted time on this machine."""

from __future__ import annotations

import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

MULTIPLIER, INCREMENT, MASK = 6364136223846793005, 1442695040888963407, 2**64 - 1
DIGITS = 12
GRAIN = 1000
"""Counts are multiples of this, so that a difference of any tenth of a percent is a whole number of steps."""


def state_after(count: int) -> int:
    """State of the generator x = a x + c modulo 2^64 after `count` steps from 1, by squaring the affine map."""
    scale, shift, power, offset = 1, 0, MULTIPLIER, INCREMENT
    while count:
        if count & 1:
            scale, shift = scale * power & MASK, (shift * power + offset) & MASK
        power, offset = power * power & MASK, (offset * power + offset) & MASK
        count >>= 1
    return (scale + shift) & MASK


def longer(count: int, difference: float) -> int:
    """Return the count that is larger by the given fraction. Raises ValueError when the result is not a whole number of
    steps."""
    more = count * difference
    if abs(more - round(more)) > 1e-6:
        raise ValueError(f"{count} steps cannot be made longer by exactly {difference}")
    return count + round(more)


@dataclass(frozen=True)
class Loop:
    """The built program."""

    program: Path

    def argv(self, count: int) -> list[str]:
        """Return arguments that make `count` steps, equally long for every count."""
        return [str(self.program), f"{count:0{DIGITS}d}"]

    def check(self, count: int) -> None:
        """Raise SystemExit unless the program really makes `count` steps: its last state must be the computed one."""
        done = subprocess.run([*self.argv(count), "show"], capture_output=True, text=True, check=True)
        if int(done.stdout) != state_after(count):
            raise SystemExit(f"The loop does not make {count} steps with this compiler; nothing was measured.")

    def seconds(self, count: int, repeats: int = 15) -> float:
        """Return the median wall time of one execution."""
        times = []
        for _ in range(repeats):
            begun = time.monotonic()
            subprocess.run(self.argv(count), check=True)
            times.append(time.monotonic() - begun)
        return statistics.median(times)

    def calibrate(self, seconds: float) -> int:
        """Return a count whose execution takes about `seconds` here, start-up included."""
        empty, some = self.seconds(0), self.seconds(2_000_000)
        return max(1, round((seconds - empty) / (some - empty) * 2_000_000 / GRAIN)) * GRAIN


def build(directory: Path) -> Loop:
    """Compile the loop. Static when the C library allows: start-up is then a hundredth of the time, not a thirtieth."""
    source, program = Path(__file__).with_name("loop.c"), directory / "loop"
    compile_c(source, program, "-static")
    return Loop(program)


def compile_c(source: Path, program: Path, *options: str) -> None:
    """Compile one C file, without the extra options when they do not work here. Raises SystemExit with the reason."""
    try:
        done = subprocess.run(["cc", "-O2", "-o", program, source, *options], capture_output=True, text=True)
        if done.returncode and options:
            done = subprocess.run(["cc", "-O2", "-o", program, source], capture_output=True, text=True)
    except OSError as error:
        raise SystemExit(
            f"The bench needs a C compiler named cc: {error}. On Debian: apt-get install gcc libc6-dev"
        ) from None
    if done.returncode:
        raise SystemExit(f"{source.name} does not compile: {done.stderr.strip()}")
