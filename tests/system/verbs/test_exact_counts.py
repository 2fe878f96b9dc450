"""Instructions counted by the real callgrind: the same in each run, and the difference of two programs exactly."""

import pytest
from tests.needs import need

import becalm
from becalm.results.compare import Answer, Gate

COUNTED = "callgrind:instructions"


@pytest.fixture(name="text")
def _text(tmp_path):
    need("valgrind")
    path = tmp_path / "text"
    path.write_text("".join(f"line {number} of a text\n" for number in range(2000)))
    return path


def test_gzip_counts_the_same_each_time(text, own_directories):
    verdict = becalm.run(["gzip", "-5", "-c", str(text)], metric=COUNTED)
    (count,) = verdict.summaries[0].metrics
    assert count.minimum == count.maximum > 1e6


def test_a_level_of_compression_is_told_from_the_next(text, own_directories):
    verdict = becalm.compare([["gzip", f"-{level}", "-c", str(text)] for level in (1, 9)], metric=COUNTED)
    (difference,) = verdict.differences
    assert difference.answer is Answer.HIGHER
    assert difference.low == difference.high == difference.estimate
    same = becalm.check([f"gzip -5 -c {text}"] * 2, metric=COUNTED, fail_above="0.01%")
    assert same.gate is Gate.WITHIN


def test_children_are_counted_too(text, own_directories):
    alone, twice = (
        becalm.run(["/bin/sh", "-c", "; ".join([f"gzip -5 -c {text}"] * times)], metric=COUNTED).summaries[0].metrics[0]
        for times in (1, 3)
    )
    assert twice.mean.value > 2 * alone.mean.value
