"""The imports of the reports of searches."""

from __future__ import annotations

import sys


def test_reports_do_not_import_what_they_may_not_need() -> None:
    import subprocess

    code = (
        "import sys, becalm.analysis.tune_confirmation, becalm.report.tune.terminal, becalm.report.tune.html;"
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'jinja2')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
