"""docs/reference/doctor.md names every ability, subject and kind of finding, and nothing else."""

import pathlib
import re

from tests.places import ROOT

from becalm.analysis import doctor_advice
from becalm.hosts import Ability

DOC = (ROOT / "docs/reference/doctor.md").read_text()


def test_the_table_of_abilities_is_that_of_the_agent(facts):
    table = DOC.split("### Abilities")[1]
    written = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert written == [(row["name"], row["title"], row["matters"]) for row in facts["abilities"]]


def test_the_table_of_a_hosts_abilities_is_that_of_the_hosts():
    table = DOC.split("### Abilities of the host")[1]
    written = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert written == [(str(ability), ability.what, ability.matters) for ability in Ability]


def test_every_subject_and_field_is_described(facts):
    table = DOC.split("### Facts")[1].split("### Abilities")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))
    assert set(rows) == set(facts)
    for subject in set(facts) - {"abilities"}:
        described = set(re.findall(r"`(\w+)`", rows[subject]))
        for field in set(facts[subject]) - {"missing"}:
            assert field in described, f"{subject}.{field}"


def test_every_kind_of_finding_is_listed():
    source = pathlib.Path(doctor_advice.__file__).read_text()
    kinds = set(re.findall(r"(?:Severity\.\w+(?: if loads else Severity\.NOTE)?|severity),\s*\"(\w+)\"", source))
    listed = DOC.split("Kinds of findings:")[1].split("\n\n")[0]
    assert kinds == set(re.findall(r"`(\w+)`", listed))
