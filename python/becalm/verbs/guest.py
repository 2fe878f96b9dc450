"""`becalm guest prepare`, `list`: kernels for the host `guest:`."""

from __future__ import annotations

from collections.abc import Callable

from becalm.hosts.guest.kernel import Kernel, prepare, prepared


def prepare_guest(kernel: str, *, report: Callable[[str], None] | None = None) -> Kernel:
    """Fetch a kernel and keep it in the cache directory; it is not installed.

    Arguments:
        kernel: a version that Debian has ("6.1"), or a package file: linux-image-….deb.
        report: called with a sentence about steps that take long.

    Raises UsageError, MachineError.
    """
    return prepare(kernel, report or (lambda sentence: None))


def list_guests() -> list[Kernel]:
    """Return the prepared kernels, newest first."""
    return prepared()
