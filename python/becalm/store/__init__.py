"""The store: every run as it happened, appended and read, never edited.

`Store` (store.py) is the face; `schema` holds the tables, `migrations` the steps between versions, `location` turns
what people give into a database, `failure` words what a database says when it fails, `spool` keeps finished runs safe
until they are stored. Only this package imports SQLAlchemy.
"""

from becalm.store.spool import Elsewhere, Recovered, Spool, elsewhere, recover
from becalm.store.store import Store

__all__ = ["Elsewhere", "Recovered", "Spool", "Store", "elsewhere", "recover"]
