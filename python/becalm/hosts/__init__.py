"""Hosts: where a workload runs. One table (`table`), one interface (`protocol`), one file per kind.

`open` turns a name as `--host` takes it ("local", "null", "sim:drift") into a Host. The conformance suite in
`tests/suites/hosts.py` runs over the table.
"""

from becalm.hosts.abilities import Ability, Can, need
from becalm.hosts.events import Event, LoadMade, Loads, Noticed, Runs, RunText, Written, runs_of
from becalm.hosts.opening import emulated, is_local, open, unknown, which_machine
from becalm.hosts.protocol import Access, Host, Left, LoadDetail, MeasureRequest, Resumable
from becalm.hosts.table import TABLE, HostRow

__all__ = [
    "TABLE",
    "Ability",
    "Access",
    "Can",
    "Event",
    "Host",
    "HostRow",
    "Left",
    "LoadDetail",
    "LoadMade",
    "Loads",
    "MeasureRequest",
    "Noticed",
    "Resumable",
    "RunText",
    "Runs",
    "Written",
    "emulated",
    "is_local",
    "need",
    "open",
    "runs_of",
    "unknown",
    "which_machine",
]
