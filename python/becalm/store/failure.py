"""Sentences on the failures of a database: what happened, what was left unchanged, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from becalm.errors import StoreError

RECOVER = "Save what can be saved in a new one: becalm store repair NEW --store FILE"

KNOWN = (
    ("database is locked", "is locked by another program", "Try again, or use another --store."),
    ("database or disk is full", "cannot grow: the disk is full", "Free some space, then continue."),
    ("no space left", "cannot grow: the disk is full", "Free some space, then continue."),
    ("readonly database", "may only be read", "Give a place you may write with --store or BECALM_STORE."),
    ("read-only transaction", "may only be read", "Give a place you may write with --store or BECALM_STORE."),
    (
        "permission denied",
        "refuses this user",
        "Ask its owner for the right to create tables.",
    ),
    ("file is not a database", "is not a becalm store: it is not an SQLite file", "Give another file with --store."),
    ("malformed", "is damaged", RECOVER),
    (
        "disk i/o error",
        "cannot be read or written: the disk reports an error",
        "Check the disk, or use another --store.",
    ),
    ("unable to open database", "cannot be opened", "Check that its directory exists and may be written."),
    ("connection refused", "cannot be reached: nobody listens there", "Start PostgreSQL, or use another --store."),
    ("could not connect", "cannot be reached", "Start PostgreSQL, or use another --store."),
    ("connection failed", "cannot be reached", "Check host, user and database, or use another --store."),
    ("connection is bad", "cannot be reached", "Check host, user and database, or use another --store."),
    ("server closed the connection", "went away in the middle", "Start PostgreSQL again, then continue."),
)


@contextmanager
def translate_errors(shown: str, errors: type[Exception]) -> Iterator[None]:
    """Raise StoreError for the `errors` of a driver. `shown`: the name of the store in the message."""
    try:
        yield
    except errors as error:
        raise StoreError(sentence(shown, error)) from error
    except UnicodeDecodeError:
        # The cause is a text of the store, since SQLite's own messages are UTF-8.
        raise StoreError(
            f"The store {shown} is damaged: a text in it is not UTF-8. Nothing in it was changed. {RECOVER}"
        ) from None
    except OverflowError as error:
        raise StoreError(f"The store {shown} holds 64-bit numbers: {error}. Nothing in it was changed.") from None


def sentence(shown: str, error: Exception) -> str:
    """Return the sentence for an error. A failed transaction changes nothing."""
    message = str(error)
    for words, what, way_out in KNOWN:
        if words in message.lower():
            return f"The store {shown} {what}. Nothing in it was changed. {way_out}"
    first = message.strip().splitlines()[0] if message.strip() else type(error).__name__
    return f"The store {shown} failed: {first}. Nothing in it was changed."
