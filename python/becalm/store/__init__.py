"""The store: every run as it happened, appended and read, never edited.

`Store` (store.py) is the interface; `studies`, `runs`, `loads` and `region_parts` have the statements on the tables of
`schema`. `database` wraps SQLite and PostgreSQL, `creation` makes the tables, `location` finds the database of a path
or URL, `failure` words the errors of databases, and `spool` keeps finished runs safe until they are stored. Only this
package contains SQL and imports its drivers.
"""

from becalm.store.spool import Elsewhere, Recovered, Spool, elsewhere, in_use, recover
from becalm.store.store import Store

__all__ = ["Elsewhere", "Recovered", "Spool", "Store", "elsewhere", "in_use", "recover"]
