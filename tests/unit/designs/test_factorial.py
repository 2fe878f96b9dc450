"""Two-level factorials and fractions."""

import numpy as np
import pytest

from becalm.designs.factorial import PUBLISHED, best_fraction, confounding, fraction, full_factorial, smallest_fraction
from becalm.designs.words import Word, span
from becalm.errors import UsageError

RESOLUTIONS = {
    (3, 1): 3, (4, 1): 4, (5, 1): 5, (5, 2): 3, (6, 1): 6, (6, 2): 4, (6, 3): 3,
    (7, 1): 7, (7, 2): 4, (7, 3): 4, (7, 4): 3,
    (8, 2): 5, (8, 3): 4, (8, 4): 4, (9, 2): 6, (9, 3): 4, (9, 4): 4, (9, 5): 3,
    (10, 3): 5, (10, 4): 4, (10, 5): 4, (10, 6): 3,
    (11, 4): 5, (11, 5): 4, (11, 6): 4, (11, 7): 3,
}  # fmt: skip
"""Montgomery, Design and Analysis of Experiments, table 8.14; NIST/SEMATECH e-Handbook, 5.3.3.4.7."""


@pytest.mark.parametrize("size", PUBLISHED)
def test_published_fractions_have_the_published_resolution(size):
    count, generators = size
    plan = best_fraction(count, 2 ** (count - generators))
    assert plan.points.shape == (2 ** (count - generators), count)
    assert plan.resolution == RESOLUTIONS[size]
    assert len(plan.defining) == 2**generators - 1


def test_a_whole_factorial_is_in_standard_order():
    plan = full_factorial(3)
    assert plan.points.tolist()[:3] == [[-1, -1, -1], [1, -1, -1], [-1, 1, -1]]
    assert (plan.resolution, plan.defining, plan.aliases()) == (None, (), ())


def test_the_defining_relation_and_aliases_of_a_quarter():
    # Montgomery, example 8.4: 2^(6-2) with E = ABC and F = BCD; I = ABCE = BCDF = ADEF
    plan = fraction(6, ["E=ABC", "F=BCD"])
    assert [word.text for word in plan.defining] == ["ABCE", "BCDF", "ADEF"]
    groups = [tuple(effect.text for effect in some) for some in plan.aliases()]
    assert ("AB", "CE") in groups
    assert ("AD", "EF") in groups
    assert ("AE", "BC", "DF") in groups or ("BC", "AE", "DF") in groups
    assert len(groups) == 7
    assert all(len(some[0]) == 2 for some in plan.aliases()), "resolution IV: no factor is aliased with two"


def test_the_other_half_has_the_negative_relation():
    plan = fraction(3, ["C=-AB"])
    assert [word.text for word in plan.defining] == ["-ABC"]
    assert (plan.points.prod(axis=1) == -1).all()
    assert [[effect.text for effect in some] for some in plan.aliases()] == [["A", "-BC"], ["B", "-AC"], ["C", "-AB"]]


def test_aliased_effects_are_one_column_with_the_stated_sign():
    plan = fraction(5, ["D=-AB", "E=AC"])
    for some in plan.aliases():
        first, *others = (effect.column(plan.points) for effect in some)
        for other in others:
            assert (other == first).all()


@pytest.mark.parametrize(("count", "runs"), [(3, 8), (4, 16), (5, 16), (6, 32), (7, 64), (8, 64), (9, 128), (12, 256)])
def test_the_smallest_of_resolution_five(count, runs):
    # NIST/SEMATECH e-Handbook, 5.3.3.6.1: cubes of central composite designs
    assert len(smallest_fraction(count, 5).points) == runs


def test_beyond_the_table_it_is_searched():
    assert best_fraction(12, 16).resolution == 3
    assert best_fraction(12, 256).resolution == 6
    assert best_fraction(15, 16).resolution == 3, "saturated"


@pytest.mark.parametrize(("count", "blocks"), [(3, 2), (4, 2), (5, 4), (6, 4), (6, 8)])
def test_blocks_cost_no_factor_and_no_interaction_of_two(count, blocks):
    words = confounding(full_factorial(count), blocks)
    assert 2 ** len(words) == blocks
    assert min(len(item) for item in span(words)) >= 3


def test_small_designs_lose_an_interaction_to_blocks():
    # Montgomery, table 7.9: 2^3 in four blocks confounds two-factor interactions.
    assert {words.text for words in span(confounding(full_factorial(3), 4))} == {"AB", "AC", "BC"}


def test_blocks_of_a_fraction_are_clear_of_its_relation():
    design = fraction(6, ["F=ABCDE"])
    for words in span(confounding(design, 2)):
        assert min(len(words), *(len(words * other) for other in design.defining)) >= 3


@pytest.mark.parametrize(
    ("generators", "message"),
    [
        (["D"], "not a generator"),
        (["I=AB"], "not a generator"),
        (["D=AX"], "not a product"),
        (["D=AA"], "not a product"),
        (["D=ABC", "D=AB"], "two generators"),
        (["C=AD", "D=AB"], "must be a product of factors without generators"),
    ],
)
def test_wrong_generators_are_refused(generators, message):
    with pytest.raises(UsageError, match=message):
        fraction(4, generators)


@pytest.mark.parametrize(("count", "runs"), [(3, 3), (3, 16), (9, 8), (3, 0)])
def test_wrong_numbers_of_runs_are_refused(count, runs):
    with pytest.raises(UsageError):
        best_fraction(count, runs)


def test_too_many_blocks_are_refused():
    with pytest.raises(UsageError, match="blocks"):
        confounding(full_factorial(3), 8)
    with pytest.raises(UsageError, match="not 3"):
        confounding(full_factorial(3), 3)


def test_words():
    word = Word.parse("-ABD", 5)
    assert (len(word), word.sign, word.members, word.text) == (3, -1, (0, 1, 3), "-ABD")
    assert (word * word).text == "I"
    assert (Word.of(0, 1) * Word.of(1, 2)).text == "AC"
    assert Word.of(0, 2).column(np.array([[-1.0, 1.0, -1.0]]))[0] == 1
