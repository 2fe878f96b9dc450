"""The store: every run as it happened, appended and read, never edited.

`Store` (store.py) is the face, and `studies`, `runs`, `loads` and `region_parts` have the statements on the tables of
`schema`; `database` is what of SQLite and PostgreSQL these use, `creation` makes them, `location`
turns what people give into a database, `failure` words what a database says when it fails, `spool` keeps finished runs
safe until they are stored. Only this package knows SQL and its drivers.
"""

from becalm.store.spool import Elsewhere, Recovered, Spool, elsewhere, in_use, recover
from becalm.store.store import Store

__all__ = ["Elsewhere", "Recovered", "Spool", "Store", "elsewhere", "in_use", "recover"]
