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
    from becalm.diagnosis import Diagnosis
    from becalm.errors import BecalmError, MachineError, StoreError, UsageError, WorkloadError
    from becalm.nouns import Run, Settings, Study, Workload
    from becalm.store import Store
    from becalm.verbs.compare import compare
    from becalm.verbs.doctor import doctor
    from becalm.verbs.run import run
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
    "compare": "becalm.verbs.compare",
    "doctor": "becalm.verbs.doctor",
    "run": "becalm.verbs.run",
    "Difference": "becalm.verdict",
    "Finding": "becalm.verdict",
    "Summary": "becalm.verdict",
    "Verdict": "becalm.verdict",
}

__all__ = [
    "BecalmError", "Diagnosis", "Difference", "Finding", "MachineError", "Run", "Settings", "Store", "StoreError",
    "Study", "Summary", "UsageError", "Verdict", "Workload", "WorkloadError", "__version__", "compare", "doctor", "run",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'becalm' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
