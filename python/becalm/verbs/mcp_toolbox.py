"""The state behind the tools of `becalm mcp`: consent, budget, one call at a time, and applied settings.

Settings are held by an agent of this process (`Host.hold`), which restores them however the process ends.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from becalm import hosts, system_clock
from becalm.errors import RefusedError, UnsettledError, UsageError
from becalm.hosts import Access
from becalm.nouns.knob import Knob
from becalm.nouns.options.mcp import Consent, McpOptions
from becalm.nouns.settings import Settings
from becalm.profiles import Profile
from becalm.results.settings import ApplyResult
from becalm.study import interrupts
from becalm.study.session_options import SessionOptions
from becalm.units import duration_ns
from becalm.verbs.settings import apply, reset, settings_for
from becalm.wording import mcp as words

TITLE = "becalm mcp"

OWNER = "mcp"
"""The owner's name under which settings are applied, and restored where no agent holds them."""

TOKEN_S = 600
"""The time for which a plan can be started, s."""

PATIENCE_S = 10.0
"""The time that a call waits for the one before it, unless that one was cancelled and is ending, s."""

LEAST_NS = 100_000_000
"""The budget below which no measurement begins, ns."""


class ToolCall:
    """A call of a tool, which may be cancelled (`Toolbox.cancel`)."""

    cancelled = False


class Toolbox:
    """The state of one server. `session`: host, rights and store, as the user chose them."""

    def __init__(self, options: McpOptions, session: SessionOptions) -> None:
        self.options, self.session = options, session
        self.used_ns = 0
        self._turn = threading.Condition()
        self._running: ToolCall | None = None
        self._held: ExitStack | None = None
        self._unheld = False
        """Whether settings are applied that no agent of this process holds: prepared for a boot, or not restored."""
        self._plans: dict[str, tuple[float, Mapping[str, Any]]] = {}

    # --- what is permitted ------------------------------------------------------------------------------------------

    def require(self, level: Consent, action: str) -> None:
        """Raise RefusedError for an action that the user did not permit."""
        if self.options.allow < level:
            raise RefusedError(words.consent(action, level.word))

    def permit(self, settings: Settings, rows: Mapping[str, Knob]) -> None:
        """Raise RefusedError for settings beyond the user's consent, UsageError for an unknown setting."""
        for name, _ in settings.values:
            if name not in rows:
                raise UsageError(f"There is no setting {name!r:.100}. `becalm knobs` lists those of this machine.")
            self.require(Consent[rows[name].scope.upper()], f"change {name} ({rows[name].scope})")

    @property
    def left_ns(self) -> int:
        """The remaining measuring time, ns."""
        return max(0, self.options.budget_ns - self.used_ns)

    def budget(self, text: str, shares: int = 1) -> float:
        """Return the seconds for each of several measurements in the remaining time. Raises RefusedError for none."""
        left_ns = self.left_ns // max(1, shares)
        if left_ns < LEAST_NS:
            raise RefusedError(words.budget_used(self.options.budget_ns))
        requested_ns = duration_ns(text)
        return min(requested_ns, left_ns) / 1e9

    @contextmanager
    def one_call(self, this: ToolCall) -> Iterator[None]:
        """Enter the only call that may measure or change something; its time counts.

        Waits for the end of a call that was cancelled. Raises RefusedError where another call does not end, or `this`
        is cancelled before its turn."""
        with self._turn:
            while (running := self._running) is not None and not this.cancelled:
                if not self._turn.wait(PATIENCE_S) and self._running is running and not running.cancelled:
                    raise RefusedError(words.BUSY)
            if this.cancelled:
                raise RefusedError(words.CANCELLED)
            self._running = this
        began_ns = system_clock.monotonic_ns()
        try:
            yield
        finally:
            self.used_ns += system_clock.monotonic_ns() - began_ns
            with self._turn:
                self._running = None
                self._turn.notify_all()

    def cancel(self, call: ToolCall) -> None:
        """Stop a call as Ctrl-C does: its measurement, or its waiting for its turn. To be repeated until it has ended,
        as it may not have begun to measure."""
        with self._turn:
            call.cancelled = True
            self._turn.notify_all()
            if self._running is call:
                interrupts.stop_joined()

    # --- where ------------------------------------------------------------------------------------------------------

    @property
    def measuring(self) -> dict[str, Any]:
        """The keyword arguments of verbs that measure."""
        return {"store": self.session.store, **self.place, "dangerous": self.session.dangerous}

    @property
    def place(self) -> dict[str, Any]:
        """The keyword arguments of verbs that act on a machine."""
        return {"host": self.session.host, "sudo": self.session.sudo, "root": self.session.root}

    def rows(self) -> dict[str, Knob]:
        """Return the settings of the machine by name."""
        with hosts.open(self.session.host, Access(sudo=self.session.sudo, root=self.session.root)) as machine:
            return {row.name: row for row in machine.knobs()}

    # --- settings that stay -----------------------------------------------------------------------------------------

    @property
    def holding(self) -> bool:
        """Whether this server has settings applied."""
        return self._held is not None or self._unheld

    def hold(self, profile: Profile) -> ApplyResult:
        """Apply settings until `release`, or until this process ends. Raises RefusedError, UsageError, MachineError."""
        if self.holding:
            raise RefusedError(words.APPLIED_ALREADY)
        with self._noting_what_is_left(), ExitStack() as stack:
            access = Access(sudo=self.session.sudo, root=self.session.root, title=TITLE, owner=OWNER)
            machine = stack.enter_context(hosts.open(self.session.host, access))
            hosts.need(machine.name, machine.abilities(), hosts.Ability.HOLD)
            settings, skipped = settings_for(machine, profile, dangerous=self.session.dangerous)
            applied = stack.enter_context(machine.hold(settings, dangerous=self.session.dangerous))
            self._held = stack.pop_all()
        return ApplyResult(profile.name, applied.changes, skipped, applied.remarks, applied.took_ns)

    def arm(self, profile: Profile) -> ApplyResult:
        """Prepare settings for the next boot of the machine. Raises the errors of `apply`."""
        if self.holding:
            raise RefusedError(words.APPLIED_ALREADY)
        result = apply(profile, boot=True, dangerous=self.session.dangerous, owner=OWNER, **self.place)
        self._unheld = True
        return result

    def release(self) -> bool:
        """Restore what is applied, and return whether anything was. Raises UnsettledError, MachineError."""
        held, self._held = self._held, None
        if held is not None:
            with self._noting_what_is_left():
                held.close()
        if not self._unheld:
            return held is not None
        unsettled = reset(owner=OWNER, **self.place).unsettled
        if unsettled:
            raise UnsettledError(words.not_restored(unsettled))
        self._unheld = False
        return True

    @contextmanager
    def _noting_what_is_left(self) -> Iterator[None]:
        """Have `release` try again what the agent that held settings could not restore."""
        try:
            yield
        except UnsettledError:
            self._unheld = True
            raise

    # --- plans ------------------------------------------------------------------------------------------------------

    def remember(self, arguments: Mapping[str, Any]) -> str:
        """Store the options of a plan and return its token."""
        token = secrets.token_urlsafe(12)
        self._plans = {token: (system_clock.monotonic(), dict(arguments))}
        return token

    def recall(self, token: str) -> Mapping[str, Any]:
        """Return the options of a plan, only once. Raises UsageError for any token but that of the present plan."""
        born, arguments = self._plans.pop(token, (-TOKEN_S, None))
        if arguments is None or system_clock.monotonic() - born > TOKEN_S:
            raise UsageError(words.BAD_TOKEN)
        return arguments

    # --- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Restore everything. Raises UnsettledError where something cannot be restored."""
        interrupts.stop_joined()
        self.release()
