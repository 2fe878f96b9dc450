"""Options that several verbs share, each with one name, one meaning and one help text; and their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from becalm.errors import UsageError
from becalm.units import duration_ns, fraction, limit_ns

F = TypeVar("F", bound=Callable[..., Any])


class Checked(click.ParamType[Any]):
    """A type whose text is checked by a function of the API; the text itself is handed on."""

    def __init__(self, name: str, check: Callable[[str], object]) -> None:
        self.name = name
        self._check = check

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The text, when the function accepts it."""
        try:
            self._check(str(value))
        except UsageError as error:
            self.fail(str(error), param, ctx)
        return value


DURATION = Checked("duration", duration_ns)
BUDGET = Checked("duration", limit_ns)
SHARE = Checked("share", fraction)


def _rule(text: str) -> object:
    from becalm.analysis.contamination import rule

    return rule(text)


RULE = Checked("rule", _rule)


class Setting(click.ParamType[Any]):
    """NAME=VALUE; the agent knows which names and values there are."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """Name and value."""
        name, equals, rest = str(value).partition("=")
        if not equals or not name:
            self.fail(f"{value!r} is not of the form NAME=VALUE.", param, ctx)
        return name, rest

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Of --set: names of knobs, then their values."""
        from becalm.cli.completion import settings

        return settings(incomplete) if param.name == "settings" else []


class Knob(click.ParamType[str]):
    """The name of a setting; the agent knows which there are."""

    name = "knob"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Names of knobs."""
        from becalm.cli.completion import knobs

        return knobs(incomplete)


class ExitCodes(click.ParamType[Any]):
    """Exit codes such as 0,1, or any."""

    name = "codes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A tuple of numbers, or "any"."""
        if isinstance(value, tuple) or value == "any":
            return value
        try:
            codes = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            codes = (-1,)
        if any(not 0 <= code <= 255 for code in codes):
            self.fail(f"{value!r} are no exit codes. Write them like 0,1, or any.", param, ctx)
        return codes


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


store = click.option("--store", metavar="FILE|URL", help="Where runs are kept [default: BECALM_STORE, else your own].")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/reference/json.md).")
plain = click.option("--plain", is_flag=True, help="Plain ASCII output, without colours.")
sudo = click.option("--sudo", is_flag=True, help="Start the agent as root; programs still run as you.")
root = click.option("--root", metavar="DIR", help="Act on a directory that looks like / instead of this machine.")
dangerous = click.option(
    "--dangerous", is_flag=True, help="Consent to settings that can make the machine slow, hot or hard to reach."
)
no_load = click.option("--no-load", is_flag=True, help="Do not record what else the machine did.")
allow_reboot = click.option(
    "--allow-reboot", is_flag=True, help="Consent to restarts of another machine, for settings of its boot."
)
host = click.option(
    "--host",
    default="local",
    show_default=True,
    help="Where: local, ssh://[user@]name[:port], a name of `becalm host`, guest:KERNEL, null, sim:MODEL.",
)
hosts = click.option(
    "--host",
    "hosts",
    multiple=True,
    help="Where: local [default], ssh://[user@]name[:port], a name of `becalm host`, guest:KERNEL, null, sim:MODEL. "
    "Several times: on all of them, each by itself and then together.",
)
cluster = click.option(
    "--cluster",
    metavar="SPEC",
    help="On all workers of a Dask cluster: slurm:nodes=4, ssh:FILE, tcp://HOST:PORT, local:2 "
    "(docs/how-to/cluster.md).",
)

measuring: Callable[[F], F] = together(
    click.option("--budget", type=BUDGET, help="Measure at most so long: 30s, 2min, none."),
    click.option("--precision", type=SHARE, help="Stop when the interval is that narrow: 0.5%."),
    click.option("--runs", type=int, help="Stop after so many rounds."),
    click.option("--warmup", type=int, default=1, show_default=True, help="Rounds run first and not counted."),
    click.option("--confidence", type=SHARE, default="95%", show_default=True, help="Of all intervals."),
    click.option("--seed", type=int, help="Repeat the same random choices."),
    click.option("--set", "settings", type=Setting(), multiple=True, help="nice=-5, cpus=1, aslr=off, policy=batch …"),
    click.option("--title", default="", help="What to call the study."),
    hosts,
    cluster,
    click.option("--user", help="Run the programs as this user (root only)."),
    sudo,
    dangerous,
    allow_reboot,
    store,
    click.option("--no-store", is_flag=True, help="Keep nothing."),
    no_load,
    click.option(
        "--drop-contaminated",
        type=RULE,
        metavar="RULE",
        help="Leave out whole rounds with more load of others than that: cpu>20%,steal>5%,page-outs>1,queue>2.",
    ),
)


def output(default: str) -> Callable[[F], F]:
    """What becomes of the programs' output, and what does when nobody says."""
    return click.option(
        "--output",
        type=click.Choice(["discard", "inherit", "keep"]),
        default=default,
        show_default=True,
        help="What becomes of the programs' output.",
    )


_PROGRAM = (
    click.option("--shell", is_flag=True, help="Have /bin/sh run the commands."),
    click.option("--prepare", metavar="CMD", help="Run before each run, not timed."),
    click.option("--cleanup", metavar="CMD", help="Run after each run, not timed."),
    click.option("--input", metavar="FILE", help="Standard input [default: none]."),
    click.option("--directory", metavar="DIR", help="Working directory."),
    click.option("--env", "environment", type=Setting(), multiple=True, metavar="K=V", help="Environment."),
    click.option("--timeout", type=DURATION, help="Kill a run that takes longer."),
    click.option("--copies", type=click.IntRange(1, 4096), help="Start so many at once; a run is all of them."),
    click.option("--expect", type=ExitCodes(), default="0", show_default=True, help="Good exit codes: 0,1 or any."),
    click.option("--cold", is_flag=True, help="Drop the page cache before each run (root)."),
)

workload: Callable[[F], F] = together(*_PROGRAM, output("discard"))
watched_workload: Callable[[F], F] = together(*_PROGRAM, output("inherit"))
"""The same for one run that a person looks on at."""

display: Callable[[F], F] = together(
    as_json,
    click.option("--quiet", is_flag=True, help="Print the verdict only."),
    plain,
)


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    """What the options mean as keywords of `becalm.run`, `becalm.compare` and `becalm.tune`."""
    if given.pop("no_store"):
        if given["store"]:
            raise UsageError("--store and --no-store contradict each other. Leave one out.")
        given["store"] = False
    if given["user"] and given["sudo"]:
        raise UsageError("--user and --sudo contradict each other: with --sudo the programs run as you.")
    if given.pop("no_load"):
        given["load"] = False
    if given.pop("cold"):
        given["cold"] = True
    given["confidence"] = fraction(given["confidence"])
    hosts, cluster = list(given.pop("hosts", ())), given.get("cluster")
    if len(hosts) > 1 or cluster is not None:
        given["hosts"] = hosts
    else:
        given["host"] = hosts[0] if hosts else "local"
    if given["expect"] == "any":
        given["expect"] = None
    for name in {"settings", "environment"} & set(given):
        given[name] = dict(given[name])
    if given["seed"] is not None and given["seed"] < 0:
        raise UsageError("--seed must not be negative.")
    return {key: value for key, value in given.items() if value is not None or key == "expect"}
