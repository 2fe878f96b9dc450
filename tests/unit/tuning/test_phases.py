"""The course of a tune study on a simulated machine with a clock of its own."""

import math

import pytest
from msgspec.structs import replace
from tests.rates import at_most
from tests.samples import samples
from tests.unit.tuning.course import World, space

from becalm.methods import method
from becalm.methods.protocol import NO_SETTINGS, STOPPED, Ask, Choice
from becalm.nouns.factor import Factor
from becalm.nouns.options.tune import Allowed, TuneOptions
from becalm.nouns.search_space import Space
from becalm.nouns.settings import Settings
from becalm.results.tune_arms import BASELINE, RECOMMENDED, SEARCHED, TUNED, WITHOUT
from becalm.tuning.confirm import FEWEST_LOOPS
from becalm.tuning.confirming import FEWEST_RUNS
from becalm.tuning.phases import LOOK_LOOPS, LOOK_RUNS, affordable, tune_phases
from becalm.wording.findings import finding

GOOD = {"a": 0.25, "b": 0.4}


def chooses(*names):
    """Return a method that asks nothing and chooses these."""

    def choose(space, rule, rng):
        return Choice(Settings.of(dict.fromkeys(names, 1)), "Because.")
        yield

    return choose


def conduct(world, search_space, chosen=None, names=("p",), seed=1, **options):
    allowed = Allowed(search_space, **{name: options.pop(name) for name in ("tried", "boot_ns") if name in options})
    tune_options = TuneOptions(**{"budget_ns": None, **options}, allowed=allowed)
    return world.conduct(tune_phases(tune_options, names, seed, chosen))


def arms(tuned):
    return {arm.name for arm in tuned.judged.arms}


def test_look_search_confirm_with_fresh_interleaved_runs():
    tuned, wishes, _ = conduct(World(GOOD), space("a", "b", "c"))
    phases = [wish.phase for wish in wishes]
    assert phases == sorted(phases, key=["look", "search", "confirm"].index)
    assert set(phases) == {"look", "search", "confirm"}
    look, confirm = wishes[0], wishes[phases.index("confirm")]
    assert (look.ask.arms, look.ask.loops, look.ask.runs, look.floor) == ((NO_SETTINGS,), LOOK_LOOPS, LOOK_RUNS, True)
    assert not any(wish.floor for wish in wishes[1:])
    assert {"a", "b"} <= set(dict(tuned.choice.settings.values))
    assert confirm.ask.arms[:2] == (NO_SETTINGS, tuned.choice.settings)
    assert set(dict(tuned.judged.settings.values)) >= {"a", "b"}
    assert [trial.number for trial in tuned.trials] == list(range(1, len(tuned.trials) + 1))
    assert tuned.search_runs == sum(trial.runs for trial in tuned.trials)
    assert any(trial.best for trial in tuned.trials)


def test_each_chosen_knob_is_measured_by_leaving_it_out():
    tuned, _, _ = conduct(World(GOOD), space("a", "b"), chooses("a", "b"))
    assert {WITHOUT + "a", WITHOUT + "b"} < arms(tuned)
    assert {contribution.knob for contribution in tuned.judged.contributions} == {"a", "b"}
    plain, _, _ = conduct(World(GOOD), space("a", "b"), chooses("a", "b"), single_out=False)
    assert arms(plain) == {BASELINE, TUNED}


def test_a_single_knob_needs_no_arm_without_it():
    tuned, wishes, _ = conduct(World(GOOD), space("a"), chooses("a"))
    assert wishes[1].ask.arms == (NO_SETTINGS, Settings.of({"a": 1}))
    assert tuned.judged.settings == Settings.of({"a": 1})


def test_profiles_are_compared_with_but_not_those_that_are_the_same_or_set_nothing():
    profiles = [("same", Settings.of({"a": 1, "b": 1})), ("none", NO_SETTINGS), ("other", Settings.of({"b": 2}))]
    tuned, wishes, _ = conduct(World(GOOD), space("a", "b", profiles=profiles), chooses("a", "b"), single_out=False)
    assert arms(tuned) == {BASELINE, TUNED, "other"}
    assert len(wishes[1].ask.arms) == 3


def test_before_it_says_that_nothing_helps_the_strongest_settings_are_measured():
    profiles = [("one", Settings.of({"a": 1})), ("two", Settings.of({"b": 1, "z": 2}))]
    tuned, wishes, _ = conduct(World(), space("a", "b", "c", profiles=profiles), chooses())
    assert [wish.phase for wish in wishes] == ["look", "confirm"]
    everything, union = Settings.of({"a": 1, "b": 1, "c": 1}), Settings.of({"a": 1, "b": 1})
    assert wishes[1].ask.arms == (NO_SETTINGS, union, everything, profiles[0][1], profiles[1][1])
    assert arms(tuned) == {BASELINE, "all profiles", "all settings", "one", "two"}
    assert tuned.choice == Choice(NO_SETTINGS, "Because.")
    assert tuned.judged.settings == NO_SETTINGS
    (remark,) = findings(tuned, "strongest")
    highest = max(tuned.judged.comparisons, key=lambda comparison: comparison.ratio.high)
    left_open = f"up to {highest.ratio.high:.3g}-fold ({highest.arm}) is not ruled out."
    assert remark.sentence.endswith(f"Nothing is shown to help; a spread that falls {left_open}")
    endless = finding("strongest", {"arms": ["pyperf"], "helped": None, "at_most": None})
    assert endless.sentence.endswith("Nothing is shown to help.")
    assert all("the chosen settings" not in comparison.sentence for comparison in tuned.judged.comparisons)


def test_where_a_boot_takes_longer_than_what_is_left_they_are_not_measured_and_that_is_reported():
    changed = replace(space("a", "b"), boot=("a",))
    tuned, wishes, _ = conduct(World(), changed, chooses(), boot_ns=60_000_000_000, budget_ns=120_000_000_000)
    assert [wish.phase for wish in wishes] == ["look"]
    (remark,) = findings(tuned, "budget")
    assert remark.numbers == {"left_out": ["all settings"]}
    assert findings(tuned, "strongest") == []
    tuned, wishes, _ = conduct(World(), changed, chooses(), boot_ns=60_000_000_000)
    assert [wish.phase for wish in wishes] == ["look", "confirm"], "without a budget they are"


@pytest.mark.parametrize("run_s", [5, 10, 20, 38])
def test_a_budget_that_is_too_short_for_a_search_is_kept_and_reported(run_s):
    tuned, wishes, spent = conduct(World(GOOD, run_ns=run_s * 1e9), space("a", "b"), budget_ns=600_000_000_000)
    assert spent <= 1.1 * 600
    if run_s == 38:
        assert [wish.phase for wish in wishes] == ["look"]
        assert tuned.search_runs == 0
        (remark,) = findings(tuned, "budget")
        assert "--budget" in remark.sentence
        assert findings(tuned, "strongest") == [], "what was not measured is not said to help nothing"


def test_helpful_ones_of_the_strongest_settings_are_chosen_and_confirmed():
    world = World({"a": 0.2, "c": 3.0}, floor=0.02)
    tuned, wishes, _ = conduct(world, space("a", "b", "c", profiles=[("pyperf", Settings.of({"a": 1}))]), chooses())
    assert tuned.choice.settings == Settings.of({"a": 1})
    assert tuned.judged.settings == Settings.of({"a": 1})
    assert [wish.phase for wish in wishes] == ["look", "confirm", "confirm"]
    assert tuned.choice.why.startswith("Because. But fresh runs of all known profiles together vary less")
    (origin,) = findings(tuned, "processor")
    assert origin.numbers["helped"] == TUNED
    assert "help all the same" in origin.sentence


def test_where_nothing_helps_what_is_left_of_a_budget_rules_out_more():
    search_space = space("a", "b", profiles=[("one", Settings.of({"a": 1}))])
    tuned, wishes, spent = conduct(World(), search_space, chooses(), budget_ns=2000e9)
    first, again, alongside, closer = (wish.ask for wish in wishes[1:])
    assert first.arms == again.arms == (NO_SETTINGS, Settings.of({"a": 1})), "what the profiles set comes first, alone"
    assert first.loops + again.loops == 60
    assert alongside.arms == closer.arms == (*first.arms, Settings.of({"a": 1, "b": 1}))
    assert closer.loops > alongside.loops == 12
    assert 600 < spent <= 2000
    loops = {comparison.arm: comparison.loops for comparison in tuned.judged.comparisons}
    assert loops == {"all profiles": 60, "all settings": closer.loops}, "of all settings the first look is not in it"
    once, _, _ = conduct(World(), search_space, chooses())
    highest = [max(comparison.ratio.high for comparison in study.judged.comparisons) for study in (tuned, once)]
    assert highest[0] < highest[1]
    tuned, wishes, _ = conduct(World(), search_space, chooses(), budget_ns=500e9)
    assert [wish.ask.arms for wish in wishes[1:]] == [first.arms] * 2, "there is no time for twelve loops of all"
    (remark,) = findings(tuned, "strongest")
    assert remark.numbers["arms"] == ["all profiles"]


def test_strongest_settings_that_help_by_themselves_are_confirmed_by_that():
    """Nothing was chosen from among several, so that no fresh runs are needed once more."""
    search_space = space("a", "b", profiles=[("one", Settings.of({"a": 1}))])
    tuned, wishes, spent = conduct(World({"a": 0.2}), search_space, chooses(), budget_ns=300e9)
    assert [len(wish.ask.arms) for wish in wishes] == [1, 2]
    assert tuned.choice.settings == tuned.judged.settings == Settings.of({"a": 1})
    assert arms(tuned) == {BASELINE, TUNED}
    (remark,) = findings(tuned, "strongest")
    assert remark.numbers["helped"] == "all profiles"
    assert spent < 150


def test_an_effect_seen_in_a_second_look_is_confirmed_on_fresh_runs():
    world = World({"a": 0.8}, floor=0.0001, seed=4)
    search_space = space("a", "b")
    tuned, wishes, _ = conduct(world, search_space, chooses(), budget_ns=3600e9)
    assert [wish.phase for wish in wishes[:3]] == ["look", "confirm", "confirm"]
    assert tuned.judged.settings.values
    _, _, spent = conduct(World({"a": 0.2}), search_space, chooses(), budget_ns=1200e9)
    assert spent < 1200, "what is seen at once is confirmed at once"


def test_of_everything_and_the_profiles_what_helps_is_confirmed_on_fresh_runs():
    """The union of the profiles does harm: `b` helps, which is in none of them."""
    search_space = space("a", "b", profiles=[("one", Settings.of({"a": 1}))])
    world = World({"a": 1.1, "b": 0.5}, floor=0.0001)
    tuned, wishes, _ = conduct(world, search_space, chooses(), budget_ns=3600e9)
    everything = Settings.of({"a": 1, "b": 1})
    asks = [wish.ask for wish in wishes[1:]]
    whole = next(index for index, request in enumerate(asks) if everything in request.arms)
    assert asks[whole + 1].arms[:2] == (NO_SETTINGS, everything)
    assert tuned.choice.settings == everything
    assert "b" in dict(tuned.judged.settings.values)


def test_a_search_that_may_set_nothing_measures_nothing_more():
    _, wishes, _ = conduct(World(), space(), chooses())
    assert [wish.phase for wish in wishes] == ["look"]


def test_settings_that_do_not_help_are_not_recommended():
    tuned, _, _ = conduct(World(), space("a", "b"), chooses("a", "b"))
    assert tuned.judged.settings == NO_SETTINGS


def test_settings_under_which_the_program_fails_are_not_recommended():
    tuned, _, _ = conduct(World(GOOD, fails=("a",)), space("a", "b"), chooses("a", "b"))
    assert tuned.judged.settings == NO_SETTINGS
    assert any(finding.kind == "failure" for finding in tuned.judged.findings)


# --- the budget -----------------------------------------------------------------------------------------------------

FIVE = dict.fromkeys("abcde", 0.6)
MANY = [("llvm-tips", Settings.of({"a": 2})), ("pyperf", Settings.of({"b": 2}))]


def budgeted(seconds, chosen=("a", "b", "c", "d", "e"), **options):
    return conduct(World(FIVE), space(*FIVE, profiles=MANY), chooses(*chosen), budget_ns=int(seconds * 1e9), **options)


def findings(tuned, kind):
    return [finding for finding in tuned.findings if finding.kind == kind]


def test_a_long_budget_measures_everything_and_says_nothing_about_it():
    tuned, _, _ = budgeted(20_000)
    assert arms(tuned) >= {BASELINE, TUNED, "llvm-tips", "pyperf", *(WITHOUT + name for name in FIVE)}
    assert findings(tuned, "budget") == []


@pytest.mark.parametrize(
    ("seconds", "left", "words"),
    [
        # 24 s for the look and 120 s for twelve loops of the whole; four loops of 5 runs of 1 s an arm: 9 arms want
        # 180 s, 4 arms 80 s.
        (250, {BASELINE, TUNED, "llvm-tips", "pyperf"}, "what each setting contributes"),
        (150, {BASELINE, TUNED}, "what each setting contributes and llvm-tips and pyperf"),
        (80, {BASELINE, TUNED}, "what each setting contributes and llvm-tips and pyperf"),
        (1, {BASELINE, TUNED}, "what each setting contributes and llvm-tips and pyperf"),
    ],
)
def test_a_short_budget_drops_contributions_then_profiles_and_says_so(seconds, left, words):
    tuned, wishes, spent = budgeted(seconds)
    assert arms(tuned) == left
    (finding,) = findings(tuned, "budget")
    assert words in finding.sentence
    assert "--budget" in finding.sentence
    assert set(finding.numbers["left_out"]) >= {WITHOUT + name for name in FIVE}
    assert wishes[1].ask.loops >= FEWEST_LOOPS
    assert spent <= max(seconds, 24 + 10 * FEWEST_LOOPS) * 1.1


def test_where_time_is_short_the_whole_is_confirmed_before_what_each_setting_does():
    tuned, wishes, spent = budgeted(500)
    confirms = [wish.ask for wish in wishes if wish.phase == "confirm"]
    assert (len(confirms[0].arms), confirms[0].loops) == (2, 12)
    assert len(confirms[1].arms) == 4 + len(FIVE)
    assert confirms[1].loops >= FEWEST_LOOPS
    assert arms(tuned) >= {BASELINE, TUNED, "llvm-tips", "pyperf", *(WITHOUT + name for name in FIVE)}
    assert {contribution.knob for contribution in tuned.judged.contributions} == set(FIVE)
    assert findings(tuned, "budget") == []
    assert spent <= 500 * 1.05


def test_where_the_whole_does_not_help_lists_are_measured_if_there_is_time_and_single_settings_are_no_question():
    for seconds, wanted in (("2000", {"llvm-tips", "pyperf"}), ("500", set())):
        tuned, _, _ = conduct(
            World({"e": 0.3}), space(*"abcde", profiles=MANY), chooses("a", "b"), budget_ns=int(seconds) * 10**9
        )
        assert arms(tuned) == {BASELINE, TUNED} | wanted
        assert [finding.numbers["left_out"] for finding in findings(tuned, "budget")] == (
            [] if wanted else [["llvm-tips", "pyperf"]]
        )


def open_question(seconds, **options):
    """Conduct a search with a setting that lowers the spread a little: twelve loops do not decide, sixty do."""
    world, chosen = World({"a": 0.72}, seed=options.pop("seed", 2)), chooses("a")
    return conduct(world, space("a"), chosen, budget_ns=int(seconds * 1e9), **options)


def test_an_open_question_gets_the_remaining_time_and_all_runs_count():
    shown, trials = dict.fromkeys((160, 1000), 0), samples(8, 100)
    for seed in range(trials):
        for seconds in shown:
            tuned, wishes, spent = open_question(seconds, seed=seed)
            first, *more = [wish.ask for wish in wishes if wish.phase == "confirm"]
            assert first.loops == 12
            assert spent <= seconds * 1.05
            if more and "more often" in more[0].why:
                assert (seconds, more[0].loops) == (1000, 48), "in 160 s there is no time for four loops more"
                assert more[0].arms == first.arms
                (arm,) = [arm for arm in tuned.judged.arms if arm.name == TUNED]
                assert arm.runs == 60 * 5
            shown[seconds] += bool(tuned.judged.settings.values)
    assert shown[160] < 0.6 * trials
    assert shown[1000] >= 0.9 * trials


def test_a_first_look_has_to_be_clearer_where_there_is_time_for_a_second():
    again = []
    for seed in range(samples(16, 200)):
        once, wishes, _ = open_question(160, seed=seed)
        assert len(wishes) == 2
        _, wishes, _ = open_question(1000, seed=seed)
        (first,) = once.judged.comparisons
        if first.ratio.low > 1:
            # From Student's interval at 95 % to that at 99 %, of the logarithms of twelve loops.
            clear = math.log(first.ratio.low / first.ratio.value) * 3.106 / 2.201 + math.log(first.ratio.value) > 0
            assert clear == (len(wishes) == 2)
            again.append(not clear)
    assert 0 < sum(again) < len(again)


def test_nothing_is_found_more_often_than_is_stated_where_nothing_helps():
    """The first of two looks is wrong one time in two hundred, the second one time in forty."""
    trials = samples(50, 1000)
    wrong = sum(
        bool(conduct(World(seed=seed), space("a"), chooses("a"), budget_ns=10**12)[0].judged.settings.values)
        for seed in range(trials)
    )
    assert wrong <= at_most(trials, 1 / 200 + 1 / 40, 0.01)


@pytest.mark.parametrize("options", [{"budget_ns": None}, {"budget_ns": 10**12, "minimize": "time"}])
def test_without_a_budget_and_for_times_what_is_open_stays_open(options):
    _, wishes, _ = conduct(World({"a": 0.9}), space("a"), chooses("a"), **options)
    assert not [wish for wish in wishes if "more often" in wish.ask.why]


def test_with_one_chosen_knob_and_a_short_budget_only_what_was_left_out_is_named():
    tuned, _, _ = budgeted(1, chosen=("a",))
    (finding,) = findings(tuned, "budget")
    assert finding.numbers["left_out"] == ["llvm-tips", "pyperf"]
    assert "contributes" not in finding.sentence


@pytest.mark.parametrize("way", ["race", "greedy", "fast", "anneal"])
@pytest.mark.parametrize("seconds", [600, 3600])
def test_the_search_keeps_to_its_share(way, seconds):
    row = method(way)
    _, wishes, spent = conduct(
        World(FIVE), space(*FIVE), row.load(), method=row.name, budget_ns=int(seconds * 1e9), single_out=False
    )
    assert wishes[-1].phase == "confirm"
    assert spent <= 1.15 * seconds


class Printing(World):
    """Programs that print a number which no setting makes larger, however slow it makes them."""

    def sample(self, settings, ask, rng):
        sample = super().sample(settings, ask, rng)
        slower = self.slower if settings.values else 1.0
        return replace(sample, loops=tuple(loop / slower for loop in sample.loops), wall_ns=sample.loops)

    def answer(self, wish, rng):
        phase_result = super().answer(wish, rng)
        together = tuple(
            replace(request, wall_ns=phase_result.samples[0][i].wall_ns)
            for i, request in enumerate(phase_result.together)
        )
        took_ns = sum(float(loop.sum()) for sample in together for loop in sample.times)
        return replace(phase_result, together=together, took_ns=took_ns)


@pytest.mark.parametrize(("kind", "seconds"), [(World, 900), (World, 1800), (World, 3600), (Printing, 900)])
def test_settings_that_slow_the_program_down_are_in_the_budget(kind, seconds):
    world = kind(FIVE, slower=1.6)
    tuned, wishes, spent = conduct(world, space(*FIVE), budget_ns=int(seconds * 1e9), confirm_loops=100)
    assert tuned.choice.settings.values
    assert wishes[-1].phase == "confirm"
    assert spent <= 1.1 * seconds


@pytest.mark.parametrize("seconds", range(100, 1500, 140))
def test_confirming_and_slimming_keep_to_the_budget(seconds):
    world = World({"a": 0.2})
    idle = ("a", "b", "c", "d", "e")
    _, wishes, spent = conduct(world, space(*idle), chooses(*idle), budget_ns=int(seconds * 1e9))
    assert spent <= 1.1 * seconds
    assert all(wish.ask.loops >= FEWEST_LOOPS for wish in wishes[1:])


def test_long_runs_are_confirmed_in_shorter_loops_and_keep_to_the_budget():
    # Runs of 20 s: the look and the search leave two minutes, and four loops of five runs of both take twelve.
    world = World(run_ns=20e9, slower=0.6)
    tuned, wishes, _ = conduct(world, space("a"), chooses("a"), budget_ns=240e9, minimize="time")
    confirm = next(wish.ask for wish in wishes if wish.phase == "confirm")
    assert (confirm.loops, confirm.runs) == (FEWEST_LOOPS, FEWEST_RUNS)
    assert tuned.judged.comparisons[0].ratio.low > 1
    _, wishes, _ = conduct(World(GOOD, run_ns=20e9), space("a"), chooses("a"), budget_ns=240e9)
    assert next(wish.ask for wish in wishes if wish.phase == "confirm").runs == 5


@pytest.mark.parametrize("way", ["surface", "swarm", "golden"])
@pytest.mark.parametrize("seconds", [120, 300, 900])
def test_times_that_turn_out_longer_than_the_look_said_are_in_the_budget(way, seconds):
    # Settings take half as long again as none, and in the confirmation all takes nearly twice as long.
    search_space = Space((), factors=(Factor("a", 0.0, 10.0), Factor("b", 1.0, 10.0)))
    options = {"method": way, "minimize": "time", **({"path": "a"} if way == "golden" else {})}
    search, budget_ns = method(way).load(TuneOptions(**options)), int(seconds * 1e9)
    _, _, spent = conduct(World(slower=1.5, later=1.8), search_space, search, budget_ns=budget_ns, **options)
    assert spent <= 1.1 * seconds
    tuned, wishes, spent = conduct(World(slower=0.7, later=1.8), search_space, search, budget_ns=budget_ns, **options)
    assert wishes[-1].phase == "confirm"
    assert tuned.judged.comparisons[0].loops >= FEWEST_LOOPS
    assert spent <= 1.1 * seconds


def test_a_search_whose_time_is_over_ends_with_what_it_knows():
    search_space = Space((), factors=(Factor("a", 0.0, 10.0), Factor("b", 1.0, 10.0)))

    def slowly(space, rule, rng):
        for _ in range(100):
            yield Ask((Settings.of({"a": 1.0}),), 1, 1, 0, "again", Settings.of({"a": 2.0}))
        return Choice(NO_SETTINGS, "never reached")

    tuned, wishes, _ = conduct(
        World(slower=3.0), search_space, slowly, minimize="time", method="surface", budget_ns=60e9
    )
    assert tuned.choice == Choice(Settings.of({"a": 2.0}), STOPPED)
    assert 5 < sum(wish.phase == "search" for wish in wishes) < 20
    tuned, _, _ = conduct(
        World(slower=3.0), search_space, method("surface").load(), minimize="time", method="surface", budget_ns=40e9
    )
    assert "when the time ran out" in tuned.choice.why


@pytest.mark.parametrize(("seconds", "runs"), [(30, 2), (60, 3), (3_600, 5)])
def test_a_mean_is_confirmed_with_six_loops_where_fewer_runs_a_loop_allow_it(seconds, runs):
    _, wishes, _ = conduct(World(slower=0.6), space("a"), chooses("a"), budget_ns=seconds * 1e9, minimize="time")
    confirm = next(wish.ask for wish in wishes if wish.phase == "confirm")
    assert (confirm.runs, confirm.loops >= 6) == (runs, True)


def test_without_a_budget_there_is_no_limit_and_the_least_runs_hold_however_small_the_budget():
    _, free, _ = conduct(World(FIVE), space(*FIVE))
    assert sum(wish.phase == "search" for wish in free) > 1
    seen = []

    def asks(space, rule, rng):
        seen.append(rule.most_runs)
        return Choice(NO_SETTINGS, "x")
        yield

    conduct(World(FIVE), space("a"), asks, budget_ns=1, least_runs=60)
    conduct(World(FIVE), space("a"), asks, budget_ns=None)
    conduct(World(FIVE), space("a"), asks, budget_ns=10**12, most_runs=7)
    assert seen == [60, None, 7]


def test_boots_of_a_factor_are_in_the_budget_as_those_of_a_candidate_are():
    factor = Factor("a", 0.0, 10.0, whole=True)
    usual = [space("a"), Space((), factors=(factor,))]
    boots = [replace(wish, boot=("a",)) for wish in usual]
    limits = [
        affordable(
            method("surface").rule,
            TuneOptions(allowed=Allowed(wish, boot_ns=20 * 10**9), minimize="time"),
            5,
            1000e9,
            1e9,
        )
        for wish in (*usual, *boots)
    ]
    # 0.55 of the time; eight boots of 20 s are 160 runs.
    assert [limit.most_runs for limit in limits] == [550, 550, 390, 390]


def test_programs_that_are_measured_together_share_the_budget():
    _, wishes, spent = conduct(
        World(FIVE, programs=3), space(*FIVE), names=("p", "q", "r"), budget_ns=int(3600e9), single_out=False
    )
    assert wishes[-1].phase == "confirm"
    assert spent <= 1.15 * 3600


# --- loops that last ----------------------------------------------------------------------------------------------


def in_a_row(run_ns, **options):
    """Return the runs in a row of the trials, and of the loops of the confirmation."""
    programs = options.pop("programs", 1)
    names = tuple("pqr"[:programs])
    _, wishes, _ = conduct(World(GOOD, run_ns=run_ns, programs=programs), space("a", "b"), names=names, **options)
    return [{wish.ask.runs for wish in wishes if wish.phase == phase} for phase in ("search", "confirm")]


@pytest.mark.parametrize(("run_ns", "trial", "loop"), [(1e6, 100, 100), (42.5e6, 25, 25), (220e6, 5, 5), (2e9, 4, 5)])
def test_loops_of_short_programs_have_as_many_runs_as_last_a_second(run_ns, trial, loop):
    assert in_a_row(run_ns) == [{trial}, {loop}]
    assert in_a_row(run_ns, programs=2) == [{trial}, {loop}], "of each program"


def test_how_many_runs_are_in_a_row_is_what_was_asked_for_where_it_was():
    assert in_a_row(42.5e6, runs=6, confirm_runs=7) == [{6}, {7}]
    assert in_a_row(42.5e6, runs=6) == [{6}, {25}]
    assert in_a_row(42.5e6, method="greedy") == [{15}, {25}], "the trials of published methods are theirs"
    assert in_a_row(42.5e6, method="surface", minimize="time", factors=("a",))[1] <= {5}, "of times loops need not last"


def test_a_search_for_little_variation_leaves_the_time_for_twelve_loops_of_what_it_chose():
    rule, options = method("race").rule, TuneOptions(allowed=Allowed(space("a")))
    runs = [affordable(rule, options, 5, seconds * 1e9, 1e9).most_runs for seconds in (1000, 180, 130, 45)]
    # 40 % of the time; what 12 loops of 10 s leave; a fifth; what four loops leave.
    assert runs == [400, 60, 26, 5]


# --- slimming -------------------------------------------------------------------------------------------------------


def test_knobs_that_do_nothing_are_left_out_after_another_confirmation():
    world = World({"a": 0.2})
    tuned, wishes, _ = conduct(world, space("a", "idle", "lazy"), chooses("a", "idle", "lazy"))
    assert tuned.judged.settings == Settings.of({"a": 1})
    assert wishes[-1].ask.arms == (NO_SETTINGS, tuned.choice.settings, tuned.judged.settings)
    assert RECOMMENDED in arms(tuned)
    assert any(comparison.arm == RECOMMENDED for comparison in tuned.judged.comparisons)


def test_two_that_stand_in_for_each_other_do_not_both_go():
    world = World({"a": 0.2, "b": 0.2}, instead=("a", "b"))
    tuned, _, _ = conduct(world, space("a", "b"), chooses("a", "b"), confirm_loops=40)
    assert len(tuned.judged.settings.values) == 1


def test_settings_that_need_a_knob_are_left_out_with_it():
    world = World({"a": 0.2})
    search_space = space("a", "isolation", "tick", requires={"tick": ("isolation",)})
    _, wishes, _ = conduct(world, search_space, chooses("a", "isolation", "tick"))
    for wish in wishes[1:]:
        for arm in wish.ask.arms:
            names = set(dict(arm.values))
            assert "tick" not in names or "isolation" in names


# --- what is said ---------------------------------------------------------------------------------------------------


def test_a_parallel_program_and_settings_that_confine_it():
    tuned, _, _ = conduct(World(GOOD, busy=3.5), space("a", "b", restricts_cpus=("b",)), chooses("a"))
    (finding,) = findings(tuned, "parallel")
    assert "3.5 CPUs" in finding.sentence
    assert "--preserve-multicore" in finding.sentence
    assert finding.numbers["confining"] == ["b"]
    assert finding.program == "p"
    assert findings(conduct(World(GOOD, busy=3.5), space("a"), chooses("a"))[0], "parallel") == []
    assert findings(conduct(World(GOOD), space("a", restricts_cpus=("a",)), chooses("a"))[0], "parallel") == []


def test_where_the_scatter_comes_from_is_reported_for_each_program():
    tuned, _, _ = conduct(World(GOOD, programs=2, floor=0.02), space("a"), chooses("a"), names=("p", "q"))
    assert [finding.program for finding in findings(tuned, "processor")] == ["p", "q"]


# --- trying what is known already -----------------------------------------------------------------------------------


def test_tried_profiles_are_confirmed_without_a_search():
    tried = (("mine", Settings.of({"a": 1})), ("yours", Settings.of({"b": 1})))
    tuned, wishes, _ = conduct(World(GOOD), space("a", "b"), chooses("b"), tried=tried)
    assert [wish.phase for wish in wishes][:2] == ["look", "confirm"]
    assert wishes[1].ask.arms == (NO_SETTINGS, Settings.of({"a": 1}), Settings.of({"b": 1}))
    assert tuned.trials == []
    assert "mine" in tuned.choice.why
    assert arms(tuned) == {BASELINE, TUNED, "yours"}


def test_tried_settings_that_are_nothing_here_or_the_same_are_reported_and_left_out():
    settings, none = Settings.of({"a": 1}), NO_SETTINGS
    tried = (("boot", none), ("mine", settings), ("twin", settings), ("yours", Settings.of({"b": 1})))
    tuned, wishes, _ = conduct(World(GOOD), space("a", "b"), tried=tried)
    assert wishes[1].ask.arms == (none, settings, Settings.of({"b": 1}))
    assert tuned.tried == ("mine", "yours")
    assert arms(tuned) == {BASELINE, TUNED, "yours"}
    assert [finding.sentence for finding in findings(tuned, "tried")] == [
        "boot has nothing that can be set here, so it was not measured.",
        "twin sets the same as mine here, so it was not measured.",
    ]


def test_trying_nothing_ends_after_the_look():
    tuned, wishes, _ = conduct(World(GOOD), space("a"), tried=(("boot", NO_SETTINGS),))
    assert len(wishes) == 1
    assert tuned.judged.arms == ()
    assert "can be set on this host" in tuned.choice.why


def test_a_list_that_beats_the_choice_is_recommended():
    """The search chose `a`; the list with `b` varies far less, and everything is said of the list then."""
    search_space = space("a", "b", profiles=[("two", Settings.of({"b": 1}))])
    tuned, _, _ = conduct(World({"a": 0.5, "b": 0.05}), search_space, chooses("a"), confirm_loops=30)
    assert tuned.choice.settings == Settings.of({"b": 1})
    assert tuned.judged.settings == Settings.of({"b": 1})
    assert {arm.name for arm in tuned.judged.arms} >= {BASELINE, TUNED, SEARCHED}
    (remark,) = findings(tuned, "list_best")
    assert remark.numbers["low"] > 1
    assert "The list of two does better than what the search chose" in remark.sentence


def test_a_choice_that_is_no_better_than_a_list_says_so():
    search_space = space("a", "b", profiles=[("two", Settings.of({"b": 1}))])
    tuned, _, _ = conduct(World({"a": 0.3, "b": 0.3}), search_space, chooses("a"), confirm_loops=30)
    assert tuned.choice.settings == Settings.of({"a": 1})
    (remark,) = findings(tuned, "no_better")
    assert remark.sentence.startswith("The choice is not shown to be better than the list of two")


def test_interchangeable_settings_are_told_apart_one_by_one():
    """One of two that do the same stays, and four that do nothing go: the smallest set that suffices."""
    world = World({"a": 0.2, "b": 0.2, "z": 0.4}, instead=("a", "b"))
    names = ("a", "b", "c", "d", "e", "f", "z")
    tuned, _, _ = conduct(world, space(*names), chooses(*names), confirm_loops=60)
    kept_names = set(tuned.judged.settings.to_json())
    assert "z" in kept_names
    assert len(kept_names & {"a", "b"}) == 1
    assert not kept_names & {"c", "d", "e", "f"}
