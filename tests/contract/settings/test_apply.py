"""`knobs`, `apply`, `reset`, `status` on a tree that looks like a laptop: what is written, said, and restored."""

import json
import re
from pathlib import Path

import pytest
from tests.places import ROOT
from tests.support.laptop import changed, put, snapshot

import becalm as api
from becalm import hosts
from becalm.errors import MachineError, RefusedError, UsageError
from becalm.hosts import Access
from becalm.nouns.codec import plain_dict
from becalm.nouns.excluded import Excluded
from becalm.nouns.knob import Knob
from becalm.nouns.settings import Settings
from becalm.profiles import SHIPPED, Profile, load, write
from becalm.results.settings import (
    ApplyResult,
    BootApplied,
    BootFile,
    Change,
    Held,
    LeftGroup,
    Reset,
    RestoredPlace,
    Status,
)
from becalm.study.settings_profile import OWN
from becalm.verbs.settings import apply, knobs, reset, status

SWAPPINESS = "proc/sys/vm/swappiness"
STAT = "proc/sys/vm/stat_interval"


def value(root, path):
    return (Path(root) / path).read_text().strip()


def profile(**settings):
    return Profile("mine", Settings.of(settings))


# --- the API --------------------------------------------------------------------------------------------------------


def test_every_row_of_the_catalogue_is_there_with_its_state(root):
    rows = {row.name: row for row in knobs(root=str(root))}
    assert rows["governor"].value == "powersave"
    assert rows["governor"].domain.choices == ("performance", "powersave")
    assert rows["swappiness"].value == "60"
    assert rows["nohz_full"].requires == ("isolcpus",)
    assert {row.scope for row in rows.values()} == {"process", "live", "boot"}
    (Path(root) / "sys/devices/system/cpu/intel_pstate/no_turbo").rename(root.parent / "aside")
    missing = {row.name: row for row in knobs(root=str(root))}["turbo"]
    (root.parent / "aside").rename(Path(root) / "sys/devices/system/cpu/intel_pstate/no_turbo")
    assert not missing.supported
    assert missing.reason


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profiles_have_settings_of_the_catalogue(root, name):
    rows = {row.name: row for row in knobs(root=str(root))}
    values = load(name).settings.to_json()
    assert set(values) <= set(rows)
    with hosts.open("local", Access(root=str(root))) as agent:
        here = Settings.of({knob: change for knob, change in values.items() if rows[knob].scope != "boot"})
        assert {change.knob for change in agent.plan(here).changes} == {
            k for k, _ in here.values if rows[k].scope == "live"
        }
        with pytest.raises(RefusedError):
            agent.plan(Settings.of({**here.to_json(), "governor": "slow"}))
    cores = ("first-core", "last-core")
    tried = {
        knob: row.tuned_value
        for knob, row in rows.items()
        if row.tuned_value and knob in values and values[knob] not in cores
    }
    assert all(str(values[knob]) == steady for knob, steady in tried.items()), "as tune tries"


def test_on_until_reset(root):
    before = snapshot(root)
    done = apply(profile(swappiness=10, stat_interval=20, nice=-5, nohz_full="first-core"), root=str(root))
    assert (value(root, SWAPPINESS), value(root, STAT)) == ("10", "20")
    assert {(change.knob, change.before, change.after) for change in done.changes} == {
        ("swappiness", "60", "10"),
        ("stat_interval", "1", "20"),
    }
    assert {exclusion.knob for exclusion in done.skipped} == {"nice", "nohz_full"}
    assert done.took_ns > 0
    state = status(root=str(root))
    assert state.anything
    assert state.title == "profile mine"
    assert state.standing is not None
    assert state.this_boot
    assert {(place.knob, place.original, place.ours, place.now) for place in state.places if not place.side_effect} == {
        ("swappiness", "60", "10", "10"),
        ("stat_interval", "1", "20", "20"),
    }
    off = reset(root=str(root))
    assert off.unsettled == ()
    assert {place.fate for place in off.places} <= {"restored", "untouched"}
    assert changed(before, snapshot(root)) == {}
    assert not status(root=str(root)).anything
    assert reset(root=str(root)) == Reset()


def test_reset_counts_the_places_that_apply_changed(becalm, root):
    """The kernel hurries while groups come and go (rcu_expedited): no place that stays changed, and none to count."""
    hurry = "/sys/kernel/rcu_expedited"
    on = becalm("apply", "--set", "isolation=last-core", root=root)
    places = json.loads((becalm("status", "--json", root=root)).stdout)["places"]
    moved = sum(place["now"] != place["original"] for place in places)
    assert hurry not in on.stdout
    assert hurry not in becalm("status", "--json", root=root).stdout
    off = becalm("reset", root=root)
    assert f"{moved} of {len(places)} values had changed." in off.stdout
    assert hurry not in off.stdout


def test_a_value_that_is_already_set_is_not_a_change(root):
    done = apply(profile(swappiness=60), root=str(root), dry_run=True)
    assert [change.changes for change in done.changes] == [False]


def test_a_dry_run_writes_nothing_and_says_what_it_would(root):
    before = snapshot(root)
    done = apply("llvm-tips", root=str(root), dry_run=True)
    assert done.dry_run
    assert changed(before, snapshot(root)) == {}
    assert {change.knob for change in done.changes} == {"governor", "isolation", "smt", "turbo"}
    assert not status(root=str(root)).anything


def test_a_missing_setting_is_left_out_or_refused_when_strict(root):
    (Path(root) / "sys/devices/system/cpu/smt/control").write_text("notsupported\n")
    try:
        done = apply("llvm-tips", root=str(root), dry_run=True)
        assert "smt" in {exclusion.knob for exclusion in done.skipped}
        assert all(exclusion.reason for exclusion in done.skipped)
        with pytest.raises(UsageError, match=r"Not all settings of llvm-tips can be set: \w+: "):
            apply("llvm-tips", root=str(root), strict=True)
        assert not status(root=str(root)).anything
    finally:
        put(Path(root), "sys/devices/system/cpu/smt/control", "on")


@pytest.mark.parametrize(
    ("settings", "options", "says"),
    [
        ({"niec": 1}, {}, "Did you mean 'nice'"),
        ({"swappiness": 999}, {}, "999"),
        ({"online_cpus": "first"}, {}, "--dangerous"),
        ({"nice": 5}, {"strict": True}, "acts on one program"),
        ({"swappiness": 1}, {"host": "sim:calm"}, "Use `local`"),
    ],
)
def test_an_impossible_setting_is_a_usage_error_and_nothing_is_written(root, settings, options, says):
    before = snapshot(root)
    with pytest.raises(UsageError, match=says):
        apply(profile(**settings), root=str(root), **options)
    assert changed(before, snapshot(root)) == {}


def test_a_value_that_this_machine_lacks_is_left_out_of_a_profile_and_refused_by_itself(root):
    settings = {"governor": "schedutil", "swappiness": 10}
    done = apply(profile(**settings), root=str(root), dry_run=True)
    assert [change.knob for change in done.changes] == ["swappiness"]
    ((knob, reason),) = [(exclusion.knob, exclusion.reason) for exclusion in done.skipped]
    assert knob == "governor"
    assert "only performance, powersave" in reason
    with pytest.raises(RefusedError, match="only performance, powersave"):
        apply(Profile(OWN, Settings.of(settings)), root=str(root), dry_run=True)


def test_consent_is_enough_for_a_dangerous_setting(root):
    done = apply(profile(online_cpus="first"), root=str(root), dangerous=True, dry_run=True)
    assert any(change.changes for change in done.changes)


def test_settings_are_not_applied_on_top_of_settings(root):
    apply(profile(swappiness=10), root=str(root))
    with pytest.raises(MachineError, match="becalm reset"):
        apply(profile(stat_interval=20), root=str(root))
    assert (value(root, SWAPPINESS), value(root, STAT)) == ("10", "1")
    reset(root=str(root))


def test_a_change_by_somebody_else_is_left_unless_forced(root):
    apply(profile(swappiness=10), root=str(root))
    put(Path(root), SWAPPINESS, "33")
    (place,) = [place for place in status(root=str(root)).places if not place.side_effect]
    assert (place.ours, place.now) == ("10", "33")
    left = reset(root=str(root))
    assert len(left.unsettled) == 1
    assert "33" in left.unsettled[0]
    assert value(root, SWAPPINESS) == "33"
    forced = reset(root=str(root), force=True)
    assert forced.unsettled == ()
    put(Path(root), SWAPPINESS, "60")


def test_a_profile_of_another_machine_says_so(root):
    with hosts.open("local", Access(root=str(root))) as agent:
        facts = agent.facts()
    here = {"hostname": facts["host"]["hostname"]}
    mine = Profile("mine", Settings.of({"swappiness": 10}), machine=here)
    assert apply(mine, root=str(root), dry_run=True).remarks == ()
    other = Profile("mine", Settings.of({"swappiness": 10}), machine={"hostname": "bench1", "cpu": "Ryzen 7"})
    (remark,) = apply(other, root=str(root), dry_run=True).remarks
    assert "made on bench1 (Ryzen 7)" in remark
    assert "becalm tune --try" in remark
    with_command = apply(other, ["true"], root=str(root))
    assert any("made on bench1" in remark for remark in with_command.remarks)
    assert with_command.exit_code == 0


# --- with a command -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
)
def test_the_exit_code_is_that_of_the_program(becalm, root, script, code):
    done = becalm("apply", "--set", "swappiness=10", "--", "sh", "-c", script, root=root)
    assert done.returncode == code
    assert value(root, SWAPPINESS) == "60"


def test_the_program_runs_with_the_settings_on_and_its_streams_are_ours(becalm, root):
    script = f"cat; cat {root}/{SWAPPINESS}; echo oops >&2; nice"
    done = becalm(
        "apply", "--set", "swappiness=10", "--set", "nice=3", "--", "sh", "-c", script, root=root, stdin="in\n"
    )
    assert done.stdout == "in\n10\n3\n"
    assert done.stderr == "oops\n"
    assert value(root, SWAPPINESS) == "60"


def test_a_program_that_changes_what_is_set_is_reported(becalm, root):
    done = becalm("apply", "--set", "swappiness=10", "--", "sh", "-c", f"echo 33 > {root}/{SWAPPINESS}", root=root)
    assert done.returncode == 3
    assert "33" in done.stderr
    assert "becalm reset --force" in done.stderr
    assert value(root, SWAPPINESS) == "33", "somebody else's value is left alone"
    assert becalm("reset", "--force", root=root).returncode == 0
    put(Path(root), SWAPPINESS, "60")


def test_without_standard_input_the_program_has_none(becalm, root):
    assert becalm("apply", "--set", "swappiness=10", "--", "cat", root=root).stdout == ""


def test_settings_left_out_are_reported_on_standard_error(becalm, root):
    done = becalm("apply", "pyperf", "--", "echo", "hello", root=root)
    assert done.stdout == "hello\n"
    assert "becalm: left out nohz_full: " in done.stderr


def test_a_program_that_is_not_there_is_exit_code_4_and_everything_is_restored(becalm, root):
    done = becalm("apply", "--set", "swappiness=10", "--", "no-such-program", root=root)
    assert done.returncode == 4
    assert "no-such-program" in done.stderr


# --- the command line -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["apply"], 2, "Which settings?"),
        (["apply", "--set", "swappiness=1", "--"], 2, "There is no program after --"),
        (["apply", "--set", "swappiness"], 2, "NAME=VALUE"),
        (["apply", "--set", "swapiness=1"], 2, "Did you mean 'swappiness'"),
        (["apply", "--set", "swappiness=many"], 2, "many"),
        (["apply", "llvm-tip"], 2, "Did you mean 'llvm-tips'"),
        (["apply", "llvm-tips", "./bench"], 2, "becalm apply PROFILE -- PROGRAM"),
        (["apply", "--set", "watchdogs=off"], 2, "--dangerous"),
        (["apply", "77"], 2, "no study 77"),
        (["apply", "last"], 2, "empty"),
        (["knobs", "governer"], 2, "Did you mean 'governor'"),
        (["apply", "--strict", "pyperf"], 2, "Not all settings of pyperf can be set"),
    ],
)
def test_refusals_are_sentences_with_an_exit_code(becalm, root, arguments, code, says):
    done = becalm(*arguments, root=root)
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert done.stderr.startswith("becalm: ")
    assert done.stdout == ""


def test_settings_that_are_on_already_are_exit_code_3(becalm, root):
    assert becalm("apply", "--set", "swappiness=10", root=root).returncode == 0
    again = becalm("apply", "--set", "stat_interval=20", root=root)
    assert again.returncode == 3
    assert "becalm reset" in again.stderr
    assert becalm("status", root=root).stdout.startswith("single settings: set by ")
    assert becalm("reset", root=root).returncode == 0


def test_reset_that_leaves_something_is_exit_code_3(becalm, root):
    becalm("apply", "--set", "swappiness=10", root=root)
    put(Path(root), SWAPPINESS, "33")
    left = becalm("reset", root=root)
    assert left.returncode == 3
    assert f"becalm reset --root {root} --force" in left.stdout
    assert becalm("reset", "--force", root=root).returncode == 0
    put(Path(root), SWAPPINESS, "60")


def test_several_profiles_are_applied_together_unless_they_contradict(becalm, root, tmp_path):
    file = write(Profile("one", Settings.of({"swappiness": 10, "stat_interval": 20})), tmp_path / "one.toml")
    two = write(Profile("two", Settings.of({"stat_interval": "20", "ksm": "off"})), tmp_path / "two.toml")
    other = write(Profile("other", Settings.of({"swappiness": 20})), tmp_path / "other.toml")
    done = json.loads(becalm("apply", file, two, "--dry-run", "--json", root=root).stdout)
    assert {change["knob"]: change["after"] for change in done["changes"]} == {
        "swappiness": "10", "stat_interval": "20", "ksm": "0",
    }  # fmt: skip
    assert done["profile"] == "one and two"
    against = becalm("apply", file, other, root=root)
    assert against.returncode == 2
    assert "one sets swappiness=10 and other sets swappiness=20" in against.stderr
    decided = json.loads(becalm("apply", file, other, "--set", "swappiness=5", "--dry-run", "--json", root=root).stdout)
    assert {change["knob"]: change["after"] for change in decided["changes"]}["swappiness"] == "5"


def test_a_profile_from_a_study(becalm, root, home):
    result = becalm(
        "tune", "--host", "sim:b:3", "--seed", "5", "--budget", "4h", "--quiet", "--dangerous",
        "--without", "irq_affinity", "--without", "workqueue_cpus",
        "--save", home / "found.toml", "--report", home / "report.md", "--", "hmmsearch",
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    assert "hmmsearch" in (home / "report.md").read_text()
    saved = load(str(home / "found.toml"))
    assert saved.machine == {"hostname": "sim:b"}
    assert "study 1, for: hmmsearch" in saved.description
    for reference in ("1", "study:1", "last"):
        done = becalm("apply", reference, "--dry-run", "--json", "--dangerous", root=root)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert document["profile"] == "study-1"
        assert {change["knob"] for change in document["changes"]} | {
            exclusion["knob"] for exclusion in document["skipped"]
        } == set(saved.settings.to_json())
        assert "made on sim:b" in document["remarks"][0]


def test_a_study_that_recommends_nothing_or_is_no_tune_is_no_profile(becalm, root, home):
    from becalm.store import Store

    api.run("spin 1ms", host="sim:calm", runs=3)
    assert "not a finished tune study" in becalm("apply", "1", root=root).stderr
    verdict = api.tune(["spin 20ms"], host="sim:calm:1", budget="5s", seed=1, store=str(home / "runs.db"))
    assert verdict.settings == {}
    with Store.open(str(home / "runs.db")) as store:
        assert store.verdict(verdict.study)["settings"] == {}
    done = becalm("apply", str(verdict.study), root=root)
    assert done.returncode == 2
    assert "recommends no settings" in done.stderr


# --- JSON -----------------------------------------------------------------------------------------------------------

SHARED = {"becalm", "schema", "kind"}


def documented(kind):
    """Return the fields that docs/reference/json.md names for a verb of settings: in the first column, and of lists in
    braces."""
    text = (ROOT / "docs/reference/json.md").read_text()
    (part,) = [word for word in text.split("\n## ") if word.partition("\n")[0].endswith(f"`{kind}`")]
    rows = [line.split("|") for line in part.splitlines() if line.startswith("| `")]
    listed = re.findall(r"`\{([^}]*)\}`", part)
    return {name.strip(" `") for row in [row[1] for row in rows] + listed for name in row.split(",")}


def names(kind):
    return set(kind.__struct_fields__)


def test_json_of_each_verb_is_what_the_docs_say(becalm, root):
    rows = json.loads(becalm("knobs", "--json", root=root).stdout)
    assert set(rows) == SHARED | {"knobs"}
    assert all(set(row) == names(Knob) for row in rows["knobs"])
    assert documented("knobs") == names(Knob)
    (knob,) = json.loads(becalm("knobs", "governor", "--json", root=root).stdout)["knobs"]
    assert knob in rows["knobs"]

    dry = json.loads(becalm("apply", "pyperf", "--dry-run", "--json", root=root).stdout)
    assert dry["dry_run"] is True
    done = json.loads(becalm("apply", "pyperf", "--json", root=root).stdout)
    assert set(done) == set(dry) == SHARED | names(ApplyResult)
    assert set(done["changes"][0]) == names(Change)
    assert documented("apply") == names(ApplyResult) | names(Change) | names(Excluded) | names(BootApplied)

    document = json.loads(becalm("status", "--json", root=root).stdout)
    assert set(document) == SHARED | names(Status)
    assert set(document["places"][0]) == names(Held)
    assert documented("status") == names(Status) | names(Held) | names(BootFile) | names(LeftGroup)

    off = json.loads(becalm("reset", "--json", root=root).stdout)
    assert set(off) == SHARED | names(Reset)
    assert set(off["places"][0]) == names(RestoredPlace)
    assert documented("reset") == names(Reset) | names(RestoredPlace)
    assert {finding["kind"] for finding in (rows, done, document, off)} == {"knobs", "apply", "status", "reset"}
    assert json.loads(becalm("status", "--json", root=root).stdout)["anything"] is False
    assert plain_dict(Reset())["places"] == []


def test_a_program_has_the_rest_of_a_profile_that_stays_on(becalm, root, tmp_path):
    """Its settings of a program are left out with the hint to name one: that must be possible while it stays on."""
    place = tmp_path / "mine.toml"
    place.write_text("[settings]\nswappiness = 1\nnice = 3\n")
    result = becalm("apply", place, root=root)
    assert "acts on one program: name it after --" in result.stdout
    out = tmp_path / "nice"
    done = becalm("apply", place, "--", "sh", "-c", f"nice > {out}", root=root)
    assert done.returncode == 0, done.stderr
    assert out.read_text().strip() == "3"
    assert (root / "proc/sys/vm/swappiness").read_text() == "1\n", "it stays on"
    place.write_text("[settings]\nswappiness = 2\n")
    other = becalm("apply", place, "--", "true", root=root)
    assert other.returncode == 3
    assert "does not apply settings on top of others" in other.stderr
