"""becalm: measure and compare programs on Linux so that the answer can be trusted.

    import becalm
    verdict = becalm.compare(["gzip -1 -c FILE", "gzip -9 -c FILE"], budget="10s")
    print(verdict.sentence)

Names are loaded on first use, so that importing becalm costs nothing. Errors are in `becalm.errors`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from becalm._version import VERSION as __version__

if TYPE_CHECKING:
    from becalm.applied import Applied, Reset, Status
    from becalm.diagnosis import Diagnosis
    from becalm.errors import BecalmError, MachineError, StoreError, UsageError, WorkloadError
    from becalm.explanation import Explanation
    from becalm.knobs import Knob
    from becalm.load.watched import Watched
    from becalm.nouns import Run, Settings, Study, Workload
    from becalm.profiles import Profile
    from becalm.steadiness import Steadiness
    from becalm.store import Store
    from becalm.verbs.compare import compare
    from becalm.verbs.doctor import doctor
    from becalm.verbs.explain import explain
    from becalm.verbs.run import run
    from becalm.verbs.settings import apply, reset, status
    from becalm.verbs.several import compare_on, run_on
    from becalm.verbs.survey import survey
    from becalm.verbs.transfer import tune_on
    from becalm.verbs.tune import tune
    from becalm.verbs.watch_run import watch
    from becalm.verdict import Difference, Finding, Summary, Verdict

_HOMES = {
    "BecalmError": "becalm.errors",
    "MachineError": "becalm.errors",
    "StoreError": "becalm.errors",
    "UsageError": "becalm.errors",
    "WorkloadError": "becalm.errors",
    "Run": "becalm.nouns",
    "Settings": "becalm.nouns",
    "Study": "becalm.nouns",
    "Workload": "becalm.nouns",
    "Store": "becalm.store",
    "Diagnosis": "becalm.diagnosis",
    "Explanation": "becalm.explanation",
    "Applied": "becalm.applied",
    "Reset": "becalm.applied",
    "Status": "becalm.applied",
    "Knob": "becalm.knobs",
    "Profile": "becalm.profiles",
    "Steadiness": "becalm.steadiness",
    "apply": "becalm.verbs.settings",
    "reset": "becalm.verbs.settings",
    "status": "becalm.verbs.settings",
    "tune": "becalm.verbs.tune",
    "watch": "becalm.verbs.watch_run",
    "Watched": "becalm.load.watched",
    "compare": "becalm.verbs.compare",
    "compare_on": "becalm.verbs.several",
    "run_on": "becalm.verbs.several",
    "tune_on": "becalm.verbs.transfer",
    "survey": "becalm.verbs.survey",
    "doctor": "becalm.verbs.doctor",
    "explain": "becalm.verbs.explain",
    "run": "becalm.verbs.run",
    "Difference": "becalm.verdict",
    "Finding": "becalm.verdict",
    "Summary": "becalm.verdict",
    "Verdict": "becalm.verdict",
}

__all__ = [
    "Applied", "BecalmError", "Diagnosis", "Difference", "Explanation", "Finding", "Knob", "MachineError", "Profile",
    "Reset", "Run", "Settings", "Status", "Steadiness", "Store", "StoreError", "Study", "Summary", "UsageError",
    "Verdict", "Watched", "Workload", "WorkloadError", "__version__", "apply", "compare", "compare_on", "doctor",
    "explain", "reset", "run", "run_on", "status", "survey", "tune", "tune_on", "watch",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'becalm' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
