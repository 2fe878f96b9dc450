"""The content of a test profile of the Phoronix Test Suite: the program, its arguments, and the options to pick.

The format is that of pts-core/objects (pts_test_profile_parser.php, pts_test_option.php, pts_test_run_options.php) of
the Phoronix Test Suite 10.8. Its rules apply: a test inherits missing values from the test that it extends; the first
entry of a menu is the default; the default arguments come first, then the picked ones, then the "post" ones.
"""

from __future__ import annotations

import difflib
import itertools
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import msgspec

from becalm.errors import UsageError

ALL = "all"
"""The word that picks every entry of every menu."""


class PhoronixOption(msgspec.Struct, frozen=True):
    """An option of a test. `entries`: pairs of name and value; `free`: whether the user may give another value."""

    identifier: str
    title: str
    prefix: str
    postfix: str
    entries: tuple[tuple[str, str], ...]
    default: int
    free: bool

    def argument(self, value: str) -> str:
        """Return the part of the command line that chooses a value."""
        return f"{self.prefix}{value}{self.postfix}"


_CHECKS: dict[str, Callable[[str], bool]] = {
    "auto-file-select": os.path.isfile,
    "auto-directory-select": lambda value: os.path.isdir(value) and os.access(value, os.W_OK),
    "auto-executable": lambda value: shutil.which(value) is not None,
}
"""Functions that filter the entries of an option by whether their value exists on the machine, by identifier."""


class PhoronixMachine(msgspec.Struct, frozen=True):
    """The properties of a machine that menus depend on: CPUs, physical cores, memory in MiB."""

    cpus: int
    cores: int
    memory_mb: int

    def menu(self, identifier: str, written: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...] | None:
        """Return the entries that the suite generates on the machine for an option, from the `written` ones.

        None: the menu is used as written; empty: only the user can give a value. Source:
        pts_test_run_options::auto_process_test_option.
        """
        if identifier in ("cpu-threads", "cpu-physical-threads"):
            most = self.cpus if identifier == "cpu-threads" else self.cores
            counts = [2**n for n in range(most.bit_length()) if 2**n < most] + [most]
            return tuple((str(count), str(count)) for count in counts)
        if identifier == "ram-capacity":
            sizes = [2**n for n in range(5, 64) if 2**n < self.memory_mb]
            return tuple((f"{size // 1024}GB" if size >= 1024 else f"{size}MB", str(size)) for size in sizes)
        if identifier == "auto-disk-mount-points":
            return (("Default Test Directory", ""),)
        exists = _CHECKS.get(identifier)
        if exists is not None:
            return tuple((name, value) for name, value in written if exists(value))
        return () if identifier.startswith("auto-") else None


Choice = tuple[PhoronixOption, str, str]
"""An option, the name of the picked entry, and its part of the command line."""


class PhoronixProfile(msgspec.Struct, frozen=True):
    """A test profile: its own definition first, then those that it extends."""

    identifier: str
    chain: tuple[ElementTree.Element, ...]
    machine: PhoronixMachine

    def text(self, path: str, default: str = "") -> str:
        """Return the text at a path from the first definition in the chain that has one."""
        texts = ((root.findtext(path) or "").strip() for root in self.chain)
        return next((text for text in texts if text), default)

    @property
    def executable(self) -> str:
        """The executable file in the test's directory."""
        return self.text("TestInformation/Executable", base_name(self.identifier))

    @property
    def requires_root(self) -> bool:
        """Whether the test needs root."""
        return self.text("TestProfile/RequiresRoot").upper() == "TRUE"

    @property
    def parents(self) -> list[str]:
        """The tests that this test extends, nearest first."""
        names = ((root.findtext("TestProfile/Extends") or "").strip() for root in self.chain[:-1])
        return [name for name in names if name]

    def options(self) -> list[PhoronixOption]:
        """Return the options of the test itself, in their order."""
        return [_option(element, self.machine) for element in self.chain[0].iterfind("TestSettings/Option")]

    def arguments(self, choices: Sequence[Choice]) -> str:
        """Return the command line after the executable, as text for a shell."""
        default, post = self.text("TestSettings/Default/Arguments"), self.text("TestSettings/Default/PostArguments")
        return " ".join(piece for piece in (default, *(choice[2] for choice in choices), post) if piece.strip()).strip()

    def combinations(self, picked: Sequence[str]) -> Iterator[tuple[Choice, ...]]:
        """Yield all combinations of the picked entries, with defaults for other options.

        `picked`: names of entries, OPTION=ENTRY, or `all`. Raises UsageError for an unknown entry.
        """
        options = self.options()
        chosen: dict[str, list[Choice]] = {option.identifier: [] for option in options}
        for text in picked:
            if text == ALL:
                for option in options:
                    chosen[option.identifier] += [_entry(option, at) for at in range(len(option.entries))]
                continue
            option, name, piece = self._pick(options, text)
            chosen[option.identifier].append((option, name, piece))
        return itertools.product(*(chosen[option.identifier] or [self._default(option)] for option in options))

    def _pick(self, options: Sequence[PhoronixOption], text: str) -> Choice:
        key, equals, value = text.partition("=")
        for option in options:
            for at, (name, _) in enumerate(option.entries):
                if name in (text, value if equals and key in (option.identifier, option.title) else text):
                    return _entry(option, at)
            if equals and option.free and key in (option.identifier, option.title):
                return option, value, option.argument(shlex.quote(value))
        names = [name for option in options for name, _ in option.entries]
        if not options:
            raise UsageError(f"{self.identifier} has no options. Leave {text!r} out.")
        near = difflib.get_close_matches(text, names, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"{self.identifier} has no option {text!r}.{hint} It has: {'; '.join(map(_words, options))}.")

    def _default(self, option: PhoronixOption) -> Choice:
        if option.entries:
            return _entry(option, option.default)
        raise UsageError(
            f"{self.identifier} needs a value for {option.title or option.identifier!r}, which depends on the machine. "
            f"Give it: phoronix:{self.identifier}:{option.identifier}=VALUE"
        )


def read(identifier: str, profiles: Path, machine: PhoronixMachine) -> PhoronixProfile:
    """Return the profile of a test such as pts/compress-gzip-1.2.0, with all that it extends. Raises UsageError."""
    chain: list[ElementTree.Element] = []
    seen: list[str] = []
    following = identifier
    while following and following not in seen:
        seen.append(following)
        path = profiles / following / "test-definition.xml"
        try:
            chain.append(ElementTree.parse(path).getroot())
        except OSError as error:
            raise UsageError(
                f"The definition {path} of the test cannot be read: {error.strerror}. "
                f"Have it fetched again: phoronix-test-suite info {following}"
            ) from error
        except ElementTree.ParseError as error:
            raise UsageError(f"The definition {path} of the test is not valid XML: {error}.") from error
        following = (chain[-1].findtext("TestProfile/Extends") or "").strip()
    return PhoronixProfile(identifier, tuple(chain), machine)


def base_name(identifier: str) -> str:
    """Return the name of a test without repository and version: compress-gzip of pts/compress-gzip-1.2.0."""
    name = identifier.rpartition("/")[2]
    return re.sub(r"-\d+(\.\d+)*$", "", name)


_SPECIAL = re.compile(r"`|\$[($!?#*@0-9-]|\$\{(?!\w+\})")
"""The characters with which a shell does more than insert a variable, even in double quotes."""

_UNQUOTED = re.compile(rf"{_SPECIAL.pattern}|[;&|<>()*?\[\n#]|(?<!\S)~")


def words(text: str, environment: Mapping[str, str]) -> list[str]:
    """Split arguments as the suite's shell would, with the variables that the suite sets.

    Raises UsageError for unknown variables, and for text that needs a shell: pipes, patterns, command substitution.
    """
    pieces = re.findall(r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^'"\\]+|.""", text, re.DOTALL)
    expanded = []
    for piece in pieces:
        quoted = piece[:1] in "'\\"
        double = piece[:1] == '"'
        if not quoted and (_SPECIAL if double else _UNQUOTED).search(piece):
            raise UsageError(f"The arguments {text!r} contain shell syntax. Use --shell to have a shell read them.")
        expanded.append(piece if quoted else _expanded(piece, environment, text, double))
    try:
        return shlex.split("".join(expanded))
    except ValueError as error:
        raise UsageError(f"The arguments {text!r} cannot be split into words: {str(error).lower()}.") from None


def _expanded(piece: str, environment: Mapping[str, str], text: str, double: bool) -> str:
    def value(match: re.Match[str]) -> str:
        if match[1]:
            # In double quotes, shlex unescapes only quotes and backslashes, a shell also dollars.
            return "$" if match[1] == "$" else match[0]
        name = match[2] or match[3]
        if name not in environment:
            raise UsageError(f"The arguments {text!r} need the variable {name}. Set it with --env {name}=VALUE.")
        return re.sub(r'(["\\])', r"\\\1", environment[name]) if double else shlex.quote(environment[name])

    return re.sub(r"\\(.)|\$(?:(\w+)|\{(\w+)\})", value, piece)


def _option(element: ElementTree.Element, machine: PhoronixMachine) -> PhoronixOption:
    def text(path: str) -> str:
        return element.findtext(path) or ""

    identifier = text("Identifier").strip()
    elements = element.iterfind("Menu/Entry")
    written = tuple(((entry.findtext("Name") or "").strip(), entry.findtext("Value") or "") for entry in elements)
    menu = machine.menu(identifier, written)
    entries = written if menu is None else menu
    number = text("DefaultEntry").strip()
    # DefaultEntry counts from 1; empty and 0 mean the first entry, a number without an entry the last, as in
    # pts_test_option::set_option_default and get_option_default.
    default = max(int(number), 1) - 1 if number.isdecimal() else 0
    return PhoronixOption(
        identifier=identifier or text("DisplayName").strip(),
        title=text("DisplayName").strip(),
        prefix=text("ArgumentPrefix"),
        postfix=text("ArgumentPostfix"),
        entries=entries,
        default=default if default < len(entries) else len(entries) - 1,
        free=menu is not None or not written,
    )


def _entry(option: PhoronixOption, at: int) -> Choice:
    name, value = option.entries[at]
    return option, name, option.argument(value)


def _words(option: PhoronixOption) -> str:
    names = [name for name, _ in option.entries] + (["a value of your choice"] if option.free else [])
    return f"{option.identifier}= {', '.join(names)}"
