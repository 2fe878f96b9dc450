"""Options as data: what is given is parsed once, stored as JSON, and read back; damage is said."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from becalm.errors import UsageError
from becalm.nouns.excluded import Excluded
from becalm.nouns.option import StudyOptions, option, options, parse_keywords, refuse_unknown
from becalm.nouns.options.measuring import CompareOptions, ImportOptions, RunOptions
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Output, Workload
from becalm.units import duration_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Some(StudyOptions):
    """Every shape that a field may have."""

    wait_ns: int = option("2s", "Wait so long.", float | str, name="wait", parse=duration_ns)
    count: int = option(1, "So many.", int, least=1)
    way: str = option("new", "How.", str, choices=("new", "old"))
    name: str | None = None
    share: float = 0.5
    names: tuple[str, ...] = ()
    pairs: tuple[tuple[str, Settings], ...] = ()
    left: tuple[Excluded, ...] = ()
    partial: Mapping[str, tuple[str, ...]] = option((), "", object, flag="", kept=None)
    output: Output = Output.KEEP
    value: str | int | bool = 0
    amount: float = option(1.0, "How much.", float)


FULL = Some(
    wait_ns=5,
    name="x",
    names=("a", "b"),
    pairs=(("p", Settings.of({"nice": -5, "aslr": "off"})),),
    left=(Excluded("smt", "no such file"),),
    partial={"pyperf": ("smt",)},
    output=Output.DISCARD,
    value="text",
)


def test_given_values_and_defaults_are_parsed():
    assert Some().wait_ns == 2 * 10**9
    assert Some.of({"wait": "5ms", "count": None}).wait_ns == 5_000_000


def test_stored_options_are_read_back():
    assert Some.from_json(FULL.to_json()) == FULL


def test_missing_fields_get_the_default_and_unknown_ones_are_left_out():
    assert Some.from_json({"names": ["z"], "unheard_of": 1}) == Some(names=("z",))
    assert Some.from_json({"count": None}).count == 1
    assert RunOptions.from_json({"budget_ns": None}).budget_ns is None


@pytest.mark.parametrize(
    ("row", "where"),
    [
        ({"wait_ns": "2s"}, r"got `str` - at `\$\.wait_ns`"),
        ({"count": 1.5}, r"got `float` - at `\$\.count`"),
        ({"count": True}, r"got `bool` - at `\$\.count`"),
        ({"names": "ab"}, r"Expected `array`, got `str` - at `\$\.names`"),
        ({"names": [1]}, r"got `int` - at `\$\.names\[0\]`"),
        ({"pairs": [["a"]]}, r"length 2, got 1 - at `\$\.pairs\[0\]`"),
        ({"left": [3]}, r"Expected `object`, got `int` - at `\$\.left\[0\]`"),
        ({"left": [{"knob": "a"}]}, "reason"),
        ({"partial": {"a": [None]}}, r"got `null` - at `\$\.partial\[\.\.\.\]\[0\]`"),
        ({"output": "nowhere"}, "nowhere"),
    ],
)
def test_a_damaged_row_names_the_place(row, where):
    with pytest.raises(UsageError, match=where):
        Some.from_json(row)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"count": 0}, "--count must be at least 1, not 0"),
        ({"amount": float("nan")}, "--amount must be a finite number, not nan"),
        ({"amount": float("inf")}, "--amount must be a finite number, not inf"),
        ({"way": "sideways"}, "--way is one of new, old, not 'sideways'"),
        ({"wait": "soon"}, "'soon' is not a duration"),
    ],
)
def test_invalid_values_are_refused_with_the_name_of_the_option(values, words):
    with pytest.raises(UsageError, match=words):
        parse_keywords(Some, values)


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(UsageError, match=r"no option 'budgte'\. Did you mean 'budget'"):
        refuse_unknown({"budgte": 1}, RunOptions, Workload)
    refuse_unknown({"budget": 1, "cold": True, "store": None}, RunOptions, Workload, also=("store",))


def test_a_number_of_rounds_alone_is_no_limit_in_time():
    assert RunOptions.of({"runs": 3}).budget_ns is None
    assert RunOptions.of({"runs": 3, "budget": "1s"}).budget_ns == 10**9
    assert RunOptions.of({}).budget_ns == 10 * 10**9
    assert CompareOptions.of({}).budget_ns == 30 * 10**9


def test_rows_of_the_first_becalm_are_read():
    """The rows are as `run`, `compare` and `import` wrote them before options were typed."""
    row = {"budget_ns": 5, "runs": None, "precision": 0.01, "warmup": 2, "confidence": 0.9, "reference": 1}
    compare_options = CompareOptions.from_json({**row, "fail_above": None, "group": "ab"})
    assert (
        compare_options.budget_ns,
        compare_options.precision,
        compare_options.warmup,
        compare_options.confidence,
        compare_options.reference,
        compare_options.group,
    ) == ((5, 0.01, 2, 0.9, 1, "ab"))
    assert ImportOptions.from_json({"source": "pyperf", "order": "unknown", "values": "per loop iteration"}).values


def test_every_option_says_what_it_is():
    for kind in (CompareOptions, Workload):
        for name, item in options(kind).items():
            assert item.help.endswith((".", "…")), name
            assert item.flag.startswith("--") or not item.flag
