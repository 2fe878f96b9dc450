"""Answers of an agent that are not laid out as the protocol has them: a sentence, and no defect of becalm."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from becalm.errors import MachineError

F = TypeVar("F", bound=Callable[..., Any])

WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""Errors of values that are missing or of another type."""


def unreadable(host: str, what: str) -> MachineError:
    """Return the error for what an agent should not send."""
    return MachineError(
        f"The agent on {host} sent {what}. It is not the agent of this becalm, or the connection mixes other text in. "
        "Runs that had arrived are kept."
    )


def understood(method: F) -> F:
    """Have a method of a host that reads answers raise MachineError where they are laid out in another way."""
    if inspect.isgeneratorfunction(method):

        @functools.wraps(method)
        def events(self: Any, *given: Any, **named: Any) -> Iterator[Any]:
            with understanding(self.name):
                yield from method(self, *given, **named)

        return cast(F, events)

    @functools.wraps(method)
    def answer(self: Any, *given: Any, **named: Any) -> Any:
        with understanding(self.name):
            return method(self, *given, **named)

    return cast(F, answer)


@contextmanager
def understanding(host: str) -> Iterator[None]:
    """Raise MachineError for what a block cannot read of an answer."""
    try:
        yield
    except WRONG as error:
        raise unreadable(host, f"an answer of another form ({type(error).__name__}: {error!s:.200})") from error
