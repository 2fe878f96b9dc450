"""Hosts: where a workload runs. One table (`table`), one interface (`protocol`), one file per kind.

`open` turns a name as `--host` takes it ("local", "null", "sim:drift") into a Host. The conformance suite in
`tests/conformance/test_hosts.py` runs over the table.
"""

from becalm.hosts.events import Event, Loads, Noticed, Runs, RunText, Written, runs_of
from becalm.hosts.opening import open, unknown
from becalm.hosts.protocol import Access, Host, LoadDetail, MeasureRequest, Reboots
from becalm.hosts.table import TABLE, Row

__all__ = [
    "TABLE",
    "Access",
    "Event",
    "Host",
    "LoadDetail",
    "Loads",
    "MeasureRequest",
    "Noticed",
    "Reboots",
    "Row",
    "RunText",
    "Runs",
    "Written",
    "open",
    "runs_of",
    "unknown",
]
