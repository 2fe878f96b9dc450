"""Errors for answers of an agent that do not follow the protocol, so that they do not look like defects of becalm."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from becalm.errors import MachineError

F = TypeVar("F", bound=Callable[..., Any])

WRONG = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""The errors that missing values and values of another type cause."""


def unreadable(host: str, message: str) -> MachineError:
    """Return the error for a message that an agent should not send."""
    return MachineError(
        f"The agent on {host} sent {message}. It is not the agent of this becalm, or the connection mixes other text "
        "in. Runs that had arrived are stored."
    )


def checked_answers(method: F) -> F:
    """Decorate a method that reads answers: raise MachineError for an answer that does not follow the protocol."""
    if inspect.isgeneratorfunction(method):

        @functools.wraps(method)
        def events(self: Any, *arguments: Any, **keywords: Any) -> Iterator[Any]:
            with answer_check(self.name):
                yield from method(self, *arguments, **keywords)

        return cast(F, events)

    @functools.wraps(method)
    def answer(self: Any, *arguments: Any, **keywords: Any) -> Any:
        with answer_check(self.name):
            return method(self, *arguments, **keywords)

    return cast(F, answer)


@contextmanager
def answer_check(host: str) -> Iterator[None]:
    """Turn errors in reading an answer into MachineError."""
    try:
        yield
    except WRONG as error:
        raise unreadable(host, f"an answer of another form ({type(error).__name__}: {error!s:.200})") from error
