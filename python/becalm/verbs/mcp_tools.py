"""The tools of `becalm mcp`: their input, the consent they need, and their answers. The protocol is elsewhere.

Each calls the public function of its verb. A new tool is a function and a row of TABLE.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from becalm.errors import BecalmError, MachineError, RefusedError, UsageError
from becalm.nouns.codec import plain_dict
from becalm.nouns.knob import Knob
from becalm.nouns.options.mcp import Consent
from becalm.nouns.settings import Settings
from becalm.profiles import Profile
from becalm.results.mcp import ToolAnswer
from becalm.results.progress import ProgressListener
from becalm.study.settings_profile import find_profile
from becalm.verbs.check import check
from becalm.verbs.compare import compare
from becalm.verbs.doctor import doctor
from becalm.verbs.explain import explain
from becalm.verbs.history import history
from becalm.verbs.mcp_parameters import Arguments, Parameter, checked
from becalm.verbs.mcp_toolbox import Toolbox, ToolCall
from becalm.verbs.run import run
from becalm.verbs.settings import apply, status
from becalm.verbs.tune import tune, tune_cost
from becalm.wording import mcp as words


class Tool(msgspec.Struct, frozen=True):
    """A tool. `consent`: what the user must permit; `alone`: whether it measures or changes something, so that only one
    call may run at a time; `changes`: whether it may change settings."""

    name: str
    what: str
    consent: Consent
    parameters: tuple[Parameter, ...]
    act: Callable[[Toolbox, dict[str, Any], ProgressListener], ToolAnswer]
    alone: bool = True
    changes: bool = False


def call(
    box: Toolbox, name: str, arguments: Arguments, listener: ProgressListener, this: ToolCall | None = None
) -> ToolAnswer:
    """Call a tool; a refusal is an answer, too. `this`: the call for `Toolbox.cancel`."""
    try:
        tool = find(name)
        accepted = checked(tool.parameters, arguments)
        box.require(tool.consent, f"use {tool.name}")
        if not tool.alone:
            return tool.act(box, accepted, listener)
        this = this or ToolCall()
        with box.one_call(this):
            holding = box.holding
            answer = tool.act(box, accepted, listener)
            if this.cancelled and box.holding and not holding:
                box.release()
                answer = ToolAnswer(words.RESTORED, error=True)
            return answer
    except BecalmError as error:
        return ToolAnswer(str(error), {"exit_code": error.exit_code}, error=True)
    except Exception as error:
        # Otherwise the agent would see a failure of the protocol, and not know which results are stored.
        return ToolAnswer(words.defect(error), {"exit_code": MachineError.exit_code}, error=True)


def find(name: str) -> Tool:
    """Return a tool. Raises UsageError for an unknown name."""
    for tool in TABLE:
        if tool.name == name:
            return tool
    raise UsageError(f"There is no tool {name!r:.100}. There are: {', '.join(tool.name for tool in TABLE)}.")


# --- measuring ------------------------------------------------------------------------------------------------------


def _doctor(box: Toolbox, arguments: dict[str, Any], listener: ProgressListener) -> ToolAnswer:
    measures = bool(arguments.get("measure", box.options.allow >= Consent.MEASURE))
    if measures:
        box.require(Consent.MEASURE, "run a program")
    budget = box.budget(arguments.get("budget", "5s")) if measures else 1.0
    host, sudo = box.session.host, box.session.sudo
    return _answer(doctor(host, measure=measures, budget=budget, listener=listener, sudo=sudo))


def _run(box: Toolbox, arguments: dict[str, Any], listener: ProgressListener) -> ToolAnswer:
    keywords = _keywords(box, arguments, "10s")
    return _answer(run(arguments.pop("command"), listener=listener, **keywords))


def _compare(box: Toolbox, arguments: dict[str, Any], listener: ProgressListener) -> ToolAnswer:
    keywords = _keywords(box, arguments, "30s")
    return _answer(compare(arguments.pop("commands"), listener=listener, **keywords))


def _check(box: Toolbox, arguments: dict[str, Any], listener: ProgressListener) -> ToolAnswer:
    builds = "old_build" in arguments
    commands = arguments.pop("commands")
    keywords = _keywords(box, arguments, "30s", shares=len(commands) if builds else 1)
    return _answer(check(commands, listener=listener, **keywords))


def _keywords(box: Toolbox, arguments: dict[str, Any], budget: str, shares: int = 1) -> dict[str, Any]:
    """Return the keyword arguments of a verb that measures programs: the agent's choice, within the user's consent."""
    values = {name: value for name, value in arguments.items() if name not in ("command", "commands", "budget")}
    if settings := values.pop("settings", None):
        box.permit(Settings.of(settings), box.rows())
        values["settings"] = settings
    if profile := values.pop("profile", None):
        chosen = find_profile(profile, store=box.session.place)
        box.permit(chosen.settings, box.rows())
        values["profile"] = chosen
    seconds = box.budget(arguments.get("budget", budget), shares)
    # A program that hangs is ended with the remaining measuring time.
    return {**values, **box.measuring, "budget": seconds, "timeout": box.left_ns / 1e9}


# --- settings -------------------------------------------------------------------------------------------------------


def _tune(box: Toolbox, arguments: dict[str, Any], listener: ProgressListener) -> ToolAnswer:
    if box.holding:
        raise RefusedError(words.APPLIED_ALREADY)
    if (token := arguments.pop("token", None)) is not None:
        if arguments:
            raise UsageError(words.TOKEN_ALONE)
        plan = dict(box.recall(token))
        programs = plan.pop("programs")
        return _answer(tune(programs, listener=listener, **_tuning(box, plan)))
    if not arguments.get("programs"):
        raise UsageError("The parameter 'programs' is missing: the command lines to tune for.")
    plan = _within(box, dict(arguments), box.rows())
    programs = plan["programs"]
    cost = tune_cost(programs, listener=listener, **_tuning(box, {k: v for k, v in plan.items() if k != "programs"}))
    rows = box.rows()
    knobs = list(plan["only"])
    risky = box.session.dangerous and any(rows[name].group == "dangerous" for name in knobs)
    result = {**cost.to_json(), "token": box.remember(plan), "settings": knobs, "budget_left_s": box.left_ns / 1e9}
    return ToolAnswer(words.planned(cost.sentence, knobs, risky), result)


def _within(box: Toolbox, plan: dict[str, Any], rows: Mapping[str, Knob]) -> dict[str, Any]:
    """Return the options of a search, restricted to settings that the user permits."""
    without = set(plan.pop("without", ()))
    if unknown := [name for name in (*plan.get("only", ()), *without) if name not in rows]:
        raise UsageError(f"There is no setting {unknown[0]!r:.100}. `becalm knobs` lists those of this machine.")
    permitted = [
        name
        for name, row in rows.items()
        if row.supported
        and row.scope != "boot"
        and Consent[row.scope.upper()] <= box.options.allow
        and (box.session.dangerous or row.group != "dangerous")
        and name not in without
    ]
    chosen = [name for name in permitted if name in plan["only"]] if plan.get("only") else permitted
    if not chosen:
        raise RefusedError(words.consent("change any of these settings", Consent.LIVE.word))
    return {**plan, "only": chosen}


def _tuning(box: Toolbox, plan: dict[str, Any]) -> dict[str, Any]:
    budget = plan.pop("budget", "5min")
    return {**plan, **box.measuring, "budget": box.budget(budget), "timeout": box.left_ns / 1e9}


def _apply(box: Toolbox, arguments: dict[str, Any], listener: ProgressListener) -> ToolAnswer:
    if not arguments.get("profile") and not arguments.get("settings"):
        raise UsageError("Which settings? Give settings, an object of names and values, or the name of a profile.")
    profile = find_profile(arguments.get("profile"), arguments.get("settings"), store=box.session.place)
    boot = bool(arguments.get("boot"))
    if arguments.get("plan"):
        dangerous = box.session.dangerous
        plan = apply(profile, dry_run=True, boot=boot, dangerous=dangerous, listener=listener, **box.place)
        names = list(dict.fromkeys(change.knob for change in plan.changes if change.changes))
        return ToolAnswer(words.would_apply(names), plain_dict(plan))
    rows = box.rows()
    if boot:
        box.require(Consent.BOOT, "prepare settings for the next start of the machine")
        armed = box.arm(profile)
        return ToolAnswer(armed.sentence, plain_dict(armed))
    _refuse_of_programs(profile, rows)
    box.require(Consent.LIVE, "change settings of the machine")
    box.permit(profile.settings, rows)
    done = box.hold(profile)
    names = list(dict.fromkeys(change.knob for change in done.changes if change.changes))
    return ToolAnswer(words.applied(names, len(done.skipped)), plain_dict(done))


def _refuse_of_programs(profile: Profile, rows: Mapping[str, Knob]) -> None:
    """Raise UsageError where all settings act on a program, so that none can be applied to the machine."""
    names = [name for name, _ in profile.settings.values if name in rows]
    if names and all(rows[name].scope == "process" for name in names):
        raise UsageError(words.only_for_programs(names[0]))


def _reset(box: Toolbox, arguments: dict[str, Any], listener: ProgressListener) -> ToolAnswer:
    return ToolAnswer(words.RESTORED if box.release() else words.NOTHING_APPLIED)


def _status(box: Toolbox, arguments: dict[str, Any], listener: ProgressListener) -> ToolAnswer:
    permitted = {"allow": box.options.allow.word, "budget_left_s": box.left_ns / 1e9, "applied_here": box.holding}
    try:
        machine = status(box.session.host, root=box.session.root)
    except UsageError as error:
        # A simulated machine has no settings to apply.
        return ToolAnswer(f"{error} {words.budget_left(box.left_ns)}", permitted)
    return ToolAnswer(f"{machine.sentence} {words.budget_left(box.left_ns)}", {**permitted, **plain_dict(machine)})


# --- what was measured ----------------------------------------------------------------------------------------------


def _explain(box: Toolbox, arguments: dict[str, Any], listener: ProgressListener) -> ToolAnswer:
    studies = arguments.get("studies", ())
    return _answer(explain(*studies, program=arguments.get("program"), store=box.session.place))


def _history(box: Toolbox, arguments: dict[str, Any], listener: ProgressListener) -> ToolAnswer:
    return _answer(history(arguments.pop("project", None), store=box.session.place, **arguments))


def _answer(conclusion: Any) -> ToolAnswer:
    """Return the answer made of the result of a verb."""
    study = getattr(conclusion, "study", None)
    findings = [finding.sentence for finding in getattr(conclusion, "findings", ())]
    return ToolAnswer(
        words.together(conclusion.sentence, findings),
        conclusion.to_json(),
        study if isinstance(study, int) else None,
    )


def text_of(answer: ToolAnswer) -> str:
    """Return the structured content of an answer as text, for clients that only read text."""
    return json.dumps(answer.to_json(), allow_nan=False)


_BUDGET = Parameter("budget", "text", "Time to measure for, for example 10s or 2min.")
_PROGRAM: Sequence[Parameter] = (
    Parameter("directory", "text", "Working directory of the programs."),
    Parameter("environment", "variables", "Environment variables, in addition to the server's own."),
    Parameter("shell", "flag", "Have /bin/sh run the commands."),
    Parameter("prepare", "text", "Command to run before each run, not timed."),
    Parameter("metric", "texts", "Numbers to measure in place of time, such as 'rss' or 'NAME: REGEX'."),
    Parameter("settings", "settings", 'Settings for the programs, such as {"aslr": "off"} (needs consent).'),
    Parameter("profile", "text", "Measure with the settings of a profile, or of what study N of tune found."),
    _BUDGET,
)

TABLE = (
    Tool(
        "doctor",
        "Report what this machine is, permits, and how noisy it is. Call it first.",
        Consent.LOOK,
        (Parameter("measure", "flag", "Measure the noise, too (needs consent to run programs)."), _BUDGET),
        _doctor,
    ),
    Tool(
        "run",
        "Measure one program: its time, and how much that varies.",
        Consent.MEASURE,
        (
            Parameter("command", "text", "The command line, split as a shell would, not arguments to one.", True),
            Parameter("name", "text", "Name of the program."),
            Parameter("runs", "count", "Number of runs [default: as many as the budget takes]."),
            *_PROGRAM,
        ),
        _run,
    ),
    Tool(
        "compare",
        "Compare programs: which is faster, and by how much, in interleaved runs.",
        Consent.MEASURE,
        (
            Parameter("commands", "texts", "Two command lines or more; the first is the reference.", True),
            Parameter("names", "texts", "Names of the programs, in order."),
            Parameter("runs", "count", "Number of runs of each [default: as many as the budget takes]."),
            *_PROGRAM,
        ),
        _compare,
    ),
    Tool(
        "check",
        "Check whether a change is slower than a limit: the old and the new command, or builds.",
        Consent.MEASURE,
        (
            Parameter("commands", "texts", "The old and the new command line; with builds, lines with {build}.", True),
            Parameter("old_build", "text", "What {build} stands for before the change."),
            Parameter("new_build", "text", "What {build} stands for after it."),
            Parameter("fail_above", "text", "The slowdown that fails, such as 3% [default: 1%]."),
            *_PROGRAM,
        ),
        _check,
    ),
    Tool(
        "tune",
        "Find settings that make programs steady or fast. The first call returns a plan with its time and risk, and a "
        "token; show it to the user. The second call, with only the token, starts the search.",
        Consent.PROCESS,
        (
            Parameter("programs", "texts", "The command lines to tune for."),
            Parameter("minimize", "text", "The quantity to minimise.", choices=("spread", "time")),
            Parameter("only", "texts", "Try these settings only."),
            Parameter("without", "texts", "Leave these settings out."),
            Parameter("token", "text", "Start the plan with this token."),
            Parameter("directory", "text", "Working directory of the programs."),
            _BUDGET,
        ),
        _tune,
        changes=True,
    ),
    Tool(
        "apply",
        "Apply settings to the machine until reset, or until this server ends, which restores them. With plan, only "
        "report what would change.",
        Consent.LOOK,
        (
            Parameter("settings", "settings", 'Names and values, such as {"swappiness": 1}.'),
            Parameter("profile", "text", "The name of a profile, or the number of a study of tune."),
            Parameter("plan", "flag", "Only report what would be written."),
            Parameter("boot", "flag", "Prepare settings for the next start of the machine instead."),
        ),
        _apply,
        changes=True,
    ),
    Tool("reset", "Restore the settings that this server has applied.", Consent.LOOK, (), _reset, changes=True),
    Tool(
        "status",
        "Report which settings are applied, by which user, what the user permits, and how much measuring time is left.",
        Consent.LOOK,
        (),
        _status,
        alone=False,
    ),
    Tool(
        "explain",
        "Report which load of the machine slowed stored runs.",
        Consent.LOOK,
        (
            Parameter("studies", "texts", "Numbers of studies, or last [default: last]."),
            Parameter("program", "text", "Only programs whose name holds this text."),
        ),
        _explain,
        alone=False,
    ),
    Tool(
        "history",
        "Report which commits changed which benchmarks of a project that becalm record has measured.",
        Consent.LOOK,
        (
            Parameter("project", "text", "Name of the project [default: the only one]."),
            Parameter("branch", "text", "Only sessions of this branch."),
            Parameter("baseline", "text", "Compare the present with the session of this name."),
        ),
        _history,
        alone=False,
    ),
)
"""All tools, in the order in which agents see them."""
