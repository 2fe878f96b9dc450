"""The reference pages list the exit codes, columns and JSON fields that the code has."""

import re

import msgspec
import pytest
from tests.places import ROOT

import becalm.errors
from becalm._version import VERSION
from becalm.hosts.greeting import PROTOCOL
from becalm.load import run_report
from becalm.load.attribution import Attribution, CauseSearch, CauseShare
from becalm.load.delay import Delay
from becalm.load.explanation import Bottleneck, Case, Explanation, LoadPoint
from becalm.load.live import Consumer, Followed, Instant
from becalm.load.waterfall import Bar, Waterfall
from becalm.nouns.excluded import Excluded
from becalm.nouns.factor import Factor
from becalm.nouns.goal import Goal
from becalm.nouns.knob import Knob
from becalm.nouns.run import COLUMNS, Outcome
from becalm.nouns.tables import run_columns
from becalm.results import design_fit
from becalm.results import settings as settings_change
from becalm.results.compare import UNDECIDED_CODE, Difference, Summary, Verdict
from becalm.results.design import Design, DesignRun
from becalm.results.multi_host import MultiHostVerdict, PooledDifference, PooledMetric, PooledTime
from becalm.results.survey import Outlier, PeerGroup, SurveyResult, SurveyRow
from becalm.results.tune import AblationEffect, Arm, ArmComparison, Transfer, Trial, TuneVerdict
from becalm.stats.response_shape import ResponseShape


def is_value(kind):
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


FIT_WHOLES = {design_fit.DesignFit, design_fit.ResponseFit}
FIT_PARTS = {
    kind for kind in vars(design_fit).values() if is_value(kind) and kind.__module__ == design_fit.__name__
} - FIT_WHOLES

LISTED = {
    "A verdict": (Verdict, Difference, Summary),
    "A tune study": (TuneVerdict, Trial, Arm, ArmComparison, AblationEffect),
    "Several hosts": (MultiHostVerdict, PooledDifference),
    "A survey": (SurveyResult,),
    "One watched run": (run_report.Watched, Waterfall),
    "One interval": (Instant,),
    "An explanation": (Explanation, Case, LoadPoint, Attribution),
    "A design": (Design,),
    "A filled design": tuple(FIT_WHOLES),
    "The catalogue": (Knob,),
    "Applied settings": (settings_change.ApplyResult,),
    "Restored settings": (settings_change.Reset,),
    "The status of settings": (settings_change.Status, settings_change.BootEntry),
}
"""The values whose fields have a row or a mention each, by chapter of docs/reference/json.md."""

INLINE = {
    "A tune study": (Transfer, Excluded),
    "Several hosts": (PooledTime, PooledMetric),
    "A survey": (Outlier, SurveyRow, PeerGroup),
    "One watched run": (Delay, Bar, run_report.MeasureCourse, Consumer),
    "One interval": (Followed,),
    "An explanation": (Bottleneck, Bar, Delay, CauseShare, ResponseShape),
    "A design": (DesignRun, Factor),
    "A filled design": (Goal, *FIT_PARTS),
    "Applied settings": (settings_change.Change, Excluded, settings_change.BootApplied),
    "Restored settings": (settings_change.RestoredPlace,),
    "The status of settings": (settings_change.Held, settings_change.BootFile, settings_change.LeftGroup),
}
"""The values that are written as `{first, second}`, by chapter."""


def chapter(title):
    """Return one chapter of docs/reference/json.md."""
    text = (ROOT / "docs/reference/json.md").read_text()
    assert f"\n## {title}" in text
    return text.split(f"\n## {title}")[1].split("\n## ")[0]


def names(kind):
    return kind.__struct_fields__


@pytest.mark.parametrize("title", LISTED)
def test_every_json_field_is_documented(title):
    text = chapter(title)
    missing = [f"{kind.__name__}.{name}" for kind in LISTED[title] for name in names(kind) if f"`{name}`" not in text]
    assert missing == []


@pytest.mark.parametrize("title", INLINE)
def test_every_small_json_value_is_documented(title):
    text = chapter(title)
    missing = [kind.__name__ for kind in INLINE[title] if f"`{{{', '.join(names(kind))}}}`" not in text]
    assert missing == []


def test_every_value_of_a_change_of_settings_is_documented():
    listed = {kind for kinds in (*LISTED.values(), *INLINE.values()) for kind in kinds}
    assert {
        kind
        for kind in vars(settings_change).values()
        if is_value(kind) and kind.__module__ == settings_change.__name__
    } <= listed


def test_answers_of_an_explanation_are_documented():
    assert [answer for answer in CauseSearch if f"`{answer}`" not in chapter("An explanation")] == []


def test_versions_agree():
    assert re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1] == VERSION
    assert VERSION in (ROOT / "CHANGELOG.md").read_text()


def test_exit_codes_are_documented():
    text = (ROOT / "docs/reference/exit-codes.md").read_text()
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    errors = [getattr(becalm.errors, name) for name in dir(becalm.errors) if name.endswith("Error")]
    assert {error.exit_code for error in errors} | {0, 1, UNDECIDED_CODE, 130} == documented


def test_columns_and_outcomes_are_documented():
    text = (ROOT / "docs/reference/protocol.md").read_text()
    assert text.startswith(f"# The agent's protocol, version {PROTOCOL}\n")
    assert f'"protocol":{PROTOCOL},' in text
    # The table of the page is written from these.
    assert "(columns.md)" in text
    meanings = {column.name: column.meaning for column in run_columns()}
    assert tuple(meanings) == COLUMNS
    assert set(Outcome) <= set(re.findall(r"[a-z]+", meanings["outcome"]))
