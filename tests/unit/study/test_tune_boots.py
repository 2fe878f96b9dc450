"""Settings of the next boot in a study: few boots, loops on boots of their own, and what a killed becalm leaves."""

import itertools
from types import SimpleNamespace

import pytest
from msgspec import structs
from tests.samples import samples
from tests.unit.small_machine import Repeatable, Trouble, same

from becalm import hosts
from becalm.errors import BootError
from becalm.hosts.abilities import YES, Ability
from becalm.hosts.simulated import machine
from becalm.nouns.knob import at_boot, catalogue
from becalm.nouns.search_space import Candidate, Group, Space
from becalm.nouns.settings import Settings
from becalm.nouns.workload import Workload
from becalm.report.tune import tables
from becalm.results.tune_arms import BASELINE, RECOMMENDED
from becalm.store import Store
from becalm.study import probe
from becalm.tuning.confirm import FEWEST_LOOPS
from becalm.verbs.tune import tune

TIME = """
[time]
base = "20ms"
[[noise]]
name = "callbacks"
kind = "normal"
size = 0.03
factors = { rcu_nocbs = 0.04, isolation = 0.9 }
[[noise]]
name = "memory layout"
kind = "normal"
size = 0.008
factors = { aslr = 0.1 }
[[noise]]
name = "the program itself"
kind = "normal"
size = 0.001
"""
MODEL = f"""
what = "a machine that starts again"
[boot]
takes = "100ms"
spread = 0.01
{TIME}"""
KNOBS = ("aslr", "isolcpus", "rcu_nocbs", "nohz_full", "pstate_driver")
BOOT = ("isolcpus", "rcu_nocbs", "nohz_full", "pstate_driver")
BOOT_NS = 100_000_000


class Killed(BaseException):
    """An exception that nothing catches: becalm is gone, as after SIGKILL."""


class Starting(Repeatable):
    """A repeatable machine that starts again. `dies_at`: the boot in the middle of which becalm is killed."""

    def __init__(self, model, trouble, dies_at=None, ignores=()):
        super().__init__(model, trouble)
        self.boot_ns = BOOT_NS
        self._abilities |= {Ability.REBOOT: YES}
        self.dies_at, self.ignores, self.blocks = dies_at, ignores, []
        self.made = 0

    def _ensure(self, boot):
        anew = self._stale or boot != self._booted
        if anew:
            self.made += 1
            if self.made == self.dies_at:
                raise Killed
        super()._ensure(boot)
        if ignored := [name for name, _ in boot.values if name in self.ignores]:
            raise BootError(f"{ignored[0]} was given, but this kernel has none.", (ignored[0],))
        return anew

    def measure(self, request):
        self._stale, done = self._stale or request.block.fresh_boot, 0
        whole = request.block.steps
        for boot, steps in itertools.groupby(whole, lambda step: at_boot(self.defined[step.settings])):
            steps = tuple(steps)
            anew = self._ensure(boot)
            if len(self.programs) > 1:
                self.blocks.append((boot, anew, steps[0].round))
            yield from super().measure(request.after(done, done + len(steps)))
            done += len(steps)


@pytest.fixture
def place(tmp_path, monkeypatch, store):
    """A replacement of `open` that opens the machine under the name sim:small; has the opened hosts, newest last."""
    path = tmp_path / "starting.toml"
    path.write_text(MODEL)
    result, options = [], {}
    real = hosts.open

    def opened(name="local", access=None):
        if name != "sim:small":
            return real(name, access)
        result.append(Starting(machine.read(path), Trouble(), **options))
        return result[-1]

    monkeypatch.setattr(hosts, "open", opened)
    return result, options


def study(**options):
    usual = {"host": "sim:small", "seed": 3, "budget": "90s", "only": KNOBS, "compare_profiles": False}
    return tune(["p"], **{**usual, **options})


def test_settings_of_the_boot_are_found_with_few_boots(place):
    opened, _ = place
    verdict = study()
    assert verdict.settings.keys() >= {"rcu_nocbs", "aslr"}
    idle = {"nohz_full", "pstate_driver"} - verdict.settings.keys()
    assert idle, "what does nothing was taken apart from what helps, and left out"
    host = opened[-1]
    # The first one takes off what was put on before the study, to see what the machine takes.
    boots = [block for block in host.blocks if block[1]][1:]
    # Ten loops of fresh starts, and more of them while something is undecided and the budget lasts.
    assert 10 < len(boots) < 150
    assert verdict.elapsed_ns < 90e9
    (remark,) = [finding for finding in verdict.findings if finding.kind == "boots"]
    assert remark.numbers["boots"] == len(boots)
    assert "loops are compared" in remark.sentence
    decided = {row[0].split(" = ")[0]: row[-1] for row in tables.knobs(verdict, verdict.programs[0]).rows}
    assert {decided[name] for name in idle} == {"left out"}
    assert decided["rcu_nocbs"] == "helps"
    names = {contribution.knob for contribution in verdict.contributions}
    assert names >= set(BOOT), "what each of them contributes is known"


def test_every_loop_of_the_confirmation_has_boots_of_its_own(place):
    opened, _ = place
    verdict = study()
    # The search asks in loops, too; its last one is before the first loop in which the machine starts without a change.
    served = {}
    for number, (boot, anew, loop) in enumerate(opened[-1].blocks):
        served.setdefault((boot, loop if loop >= 0 else -1 - loop), []).append((number, anew))
    arms = {arm.name: len(arm.loops) for arm in verdict.arms}
    loops = sorted({loop for _, loop in served})
    confirmed = set(loops[-arms[RECOMMENDED] :])
    assert len(confirmed) >= FEWEST_LOOPS
    for (_, loop), blocks in served.items():
        if loop in confirmed:
            assert [anew for _, anew in blocks].count(True) == 1, "one boot for all arms of a loop that share it"
            assert blocks[0][1]


@pytest.mark.parametrize("method", ["race", "greedy", "anneal"])
def test_killed_in_the_middle_of_any_boot_it_goes_on_to_the_same_verdict(place, store, method):
    result, options = place
    quick = {"method": method, "confirm_loops": 8, "budget": "none" if method == "race" else "5min"}
    quick |= {} if method == "race" else {"runs": 5, "loops": 2}
    whole = study(**quick)
    boots = result[-1].made
    assert boots >= 4
    for dies_at in range(2, boots, max(1, boots // samples(4, 100))):
        options["dies_at"] = dies_at
        with pytest.raises(Killed):
            study(**quick)
        options.clear()
        with Store.open(store) as opened:
            newest = opened.studies(limit=1, kind="tune")[0]
        if newest.number == whole.study:
            continue
        again = tune(resume=newest.number)
        assert same(again, findings=()) == same(whole, findings=()), f"killed in boot {dies_at}"


def test_parameters_that_the_kernel_ignores_are_left_out_with_the_reason(place):
    _, options = place
    options["ignores"] = ("nohz_full",)
    verdict = study(budget="20s")
    reasons = {exclusion.knob: exclusion.reason for exclusion in verdict.excluded}
    assert reasons["nohz_full"] == "nohz_full was given, but this kernel has none."
    assert "rcu_nocbs" in verdict.chosen


def test_a_machine_that_is_not_started_again_says_what_may_be_lost(trouble):
    verdict = tune(
        ["p"], host="sim:small", seed=1, budget="5s", only=("aslr", "isolcpus", "rcu_nocbs"), compare_profiles=False
    )
    (remark,) = [finding for finding in verdict.findings if finding.kind == "at_boot"]
    assert remark.numbers["knobs"] == ["isolcpus", "rcu_nocbs"]
    assert "the kernel frees memory on other CPUs" in remark.sentence


def test_boots_count_in_the_budget(tmp_path, store):
    """On a machine on which a boot takes as long as thirty runs, the same budget has room for fewer runs."""
    times = {}
    for takes in ("1ms", "30s"):
        path = tmp_path / f"boots-{takes}.toml"
        path.write_text(MODEL.replace("100ms", takes).replace("20ms", "1s"))
        verdict = tune(["p"], host=f"sim:{path}", seed=2, budget="30min", only=KNOBS, compare_profiles=False)
        times[takes] = verdict
        assert verdict.elapsed_ns < 1.3 * 1800e9
    assert times["30s"].search_runs + times["30s"].confirm_runs < times["1ms"].search_runs + times["1ms"].confirm_runs
    assert any(finding.kind == "boots" for finding in times["30s"].findings)


# --- as one ----------------------------------------------------------------------------------------------------------


def test_candidates_that_cost_a_boot_are_one_but_for_the_dangerous_ones():
    candidates = (
        Candidate("aslr", "off", Group.NORMAL),
        Candidate("isolation", "x", Group.ISOLATION, conflicts=("isolcpus",)),
        Candidate("isolcpus", "1", Group.ISOLATION, restricts_cpus=True),
        Candidate("nohz_full", "1", Group.ISOLATION, requires=("isolcpus", "aslr")),
        Candidate("pstate", "off", Group.NORMAL),
        Candidate("idle", "poll", Group.DANGEROUS),
        Candidate("watchdogs", "off", Group.DANGEROUS),
    )
    space = Space(candidates, boot=("isolcpus", "nohz_full", "pstate", "idle", "watchdogs"))
    bundled = space.bundled()
    assert [candidate.knob for candidate in bundled.candidates] == ["aslr", "isolation", "isolcpus", "idle"]
    boot = bundled.candidates[2]
    assert (boot.group, boot.requires, boot.restricts_cpus) == (Group.ISOLATION, ("aslr",), True)
    assert bundled.count == space.count == 7
    assert bundled.settings(bundled.candidates) == space.settings(candidates)
    assert "isolation" not in dict(space.settings(candidates).values), "isolcpus takes its place"
    assert bundled.settings([boot]) == Settings(), "it needs aslr"
    assert Space.from_json(space.to_json()) == space
    assert structs.replace(space, boot=()).bundled().candidates == candidates


def test_untouched_is_an_arm_without_a_boot(place):
    verdict = study(budget="20s")
    (bare,) = [arm for arm in verdict.arms if arm.name == BASELINE]
    assert bare.settings == {}


def test_a_profile_is_compared_without_what_the_kernel_ignores_of_its_values():
    """Only its own values are left out: that of a candidate may be taken."""
    tried = []

    class Picky:
        def define(self, workloads, settings, *, dangerous):
            tried.append(dict(settings[0].values))
            if tried[-1].get("nohz_full") == "first-core":
                raise BootError("The boot CPU keeps its tick.", ("nohz_full",))
            if "pstate_driver" in tried[-1]:
                raise BootError("It does not start.")

        def measure(self, request):
            return iter(())

    opened = SimpleNamespace(host=Picky(), measuring=SimpleNamespace(dangerous=False))
    rows = catalogue()

    def taken(**values):
        result, left_out = probe._accepted_at_boot(opened, Workload.of("k"), Settings.of(values), rows)
        return result.to_json(), {exclusion.knob: exclusion.reason for exclusion in left_out}

    first = {"nice": -5, "nohz_full": "first-core", "rcu_nocbs": "first-core"}
    left = {"nohz_full": "The boot CPU keeps its tick."}
    assert taken(**first) == ({"nice": -5, "rcu_nocbs": "first-core"}, left)
    assert tried == [{"nohz_full": "first-core", "rcu_nocbs": "first-core"}, {"rcu_nocbs": "first-core"}]
    assert taken(nice=1, pstate_driver="off") == ({"nice": 1}, {"pstate_driver": "It does not start."})
    assert taken(nice=1) == ({"nice": 1}, {})
    assert len(tried) == 3, "nothing of the boot, no boot"
