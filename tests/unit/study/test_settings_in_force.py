"""Settings in force while programs run: of a profile those that the machine has, and those that `becalm apply` has left
applied."""

import pytest
from msgspec import structs
from tests.support.listeners import Heard

import becalm
from becalm import hosts
from becalm.errors import UsageError
from becalm.hosts import Ability
from becalm.hosts.abilities import Can
from becalm.nouns.settings import Settings
from becalm.nouns.study import Study
from becalm.nouns.workload import Workload
from becalm.profiles import Profile
from becalm.study.conclude import conclude_stored
from becalm.study.session_options import SessionOptions
from becalm.study.settings_in_force import in_force
from becalm.study.stored import stored


class Kept:
    """A host with settings on, for root or not."""

    def __init__(self, inner, applied, root=True):
        self._inner, self._kept, self._root = inner, applied, root
        self.name = inner.name

    def facts(self):
        return {**self._inner.facts(), "kept": self._kept}

    def abilities(self):
        return {**self._inner.abilities(), Ability.MACHINE_SETTINGS: Can(self._root, "needs root")}

    def __getattr__(self, name):
        return getattr(self._inner, name)


def fitted(host, *, profile=None, settings=None):
    listener = Heard()
    session = SessionOptions.of({"host": host.name, "settings": settings, "profile": profile, "listener": listener})
    study = session.study("run", [Workload.of("spin 1ms")], becalm.RunOptions.of({}))
    result, applied = in_force(host, session, study)
    return result.settings[0].to_json(), applied.to_json(), listener.warnings


MINE = Profile("mine", Settings.of({"nice": -5, "aslr": "off", "slice_ns": 3000000}))


@pytest.fixture
def laptop():
    with hosts.open("sim:laptop-a") as host:
        yield host


def test_without_a_profile_nothing_changes(laptop):
    assert fitted(laptop, settings={"nice": 3}) == ({"nice": 3}, {}, [])


def test_of_a_profile_what_the_machine_has_and_one_s_own_wins(laptop):
    settings, applied, messages = fitted(laptop, profile=MINE, settings={"nice": 3})
    assert (settings, applied) == ({"nice": 3, "aslr": "off"}, {})
    assert any("slice_ns" in message and message.startswith("Left out of mine") for message in messages)


def test_applied_settings_are_not_applied_again(laptop):
    settings, applied, _ = fitted(Kept(laptop, {"aslr": "off"}), profile=MINE)
    assert "aslr" not in settings
    assert applied == {"aslr": "off"}
    settings, *_ = fitted(Kept(laptop, {"aslr": "on"}), profile=MINE)
    assert settings["aslr"] == "off", "another value is for the machine to take or to refuse"


@pytest.mark.parametrize("root", [True, False])
def test_a_user_without_access_to_isolated_cpus_is_told(laptop, root):
    *_, messages = fitted(Kept(laptop, {"isolation": "first-core"}, root))
    assert [message for message in messages if "--sudo" in message] == messages
    assert bool(messages) is not root


def test_a_verdict_names_the_settings_and_so_does_the_stored_one(store, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\n[settings]\nnice = -5\n')
    verdict = becalm.run("spin 20ms", host="sim:laptop-a", runs=10, seed=1, store=store, profile=str(file))
    (about,) = (finding for finding in verdict.findings if finding.kind == "settings")
    assert about.sentence == "Settings of these runs: nice=-5."
    document = stored(1, store)
    assert conclude_stored(structs.replace(document, verdict=None)) == verdict
    study = document.study
    options = {**study.options, "standing": {"swappiness": "1"}}
    again = conclude_stored(structs.replace(document, study=Study(**{**fields(study), "options": options})))
    (about,) = (finding for finding in again.findings if finding.kind == "settings")
    assert about.sentence.endswith("Applied before, until `becalm reset`: swappiness=1.")


def fields(study):
    return structs.asdict(study)


class Emulated(Kept):
    """A machine whose processor is emulated."""

    def __init__(self, inner):
        super().__init__(inner, {})

    def facts(self):
        return {**super().facts(), "virtualisation": {}}

    def abilities(self):
        return {**super().abilities(), Ability.REAL_TIME: Can(False, "its processor is emulated")}


def test_a_verdict_says_that_times_are_emulated(laptop, store):
    verdict = becalm.run("spin 20ms", host=Emulated(laptop), runs=5, seed=1, store=store)
    (about,) = (finding for finding in verdict.findings if finding.kind == "emulated")
    assert "its processor is emulated" in about.sentence


def test_a_profile_that_does_not_exist_is_reported_before_anything_runs(store):
    with pytest.raises(UsageError, match="There is no profile"):
        becalm.compare(["spin 1ms", "spin 2ms"], host="sim:calm", store=store, profile="nowhere")
