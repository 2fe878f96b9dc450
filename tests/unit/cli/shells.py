"""Real shells at a terminal: a line is typed, TAB is pressed, and the shell itself says what the line has become."""

import os
import pty
import re
import select
import signal
import sys
import time

STARTS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}

BEFORE = {
    "bash": "bind 'set enable-bracketed-paste off'; source {script}",
    "zsh": "unsetopt zle_bracketed_paste; PROMPT=; autoload -Uz compinit; compinit -u -D; source {script}",
    "fish": "set -g fish_autosuggestion_enabled 0; function fish_prompt; end; source {script}",
}

SECONDS = 180
"""Until a shell counts as hung; nothing is measured."""


def completed(shell, line, script, directory):
    """What a line is after TAB. `script`: path of the completion script; `directory`: with a `becalm` for the PATH."""
    command = directory / "becalm"
    answered = directory / "answered"
    answered.unlink(missing_ok=True)
    command.write_text(f'#!/bin/sh\n"{sys.executable}" -m becalm "$@"\ncode=$?\n: > "{answered}"\nexit $code\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{directory}:{os.environ['PATH']}",
        "HOME": str(directory),
        "XDG_CONFIG_HOME": str(directory / "config"),
        "XDG_DATA_HOME": str(directory / "data"),
        # Without it fish makes /tmp/fish.USER.
        "XDG_RUNTIME_DIR": str(directory),
        "TERM": "xterm",
        "COLUMNS": "200",
        "PS1": "",
    }
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(shell, STARTS[shell], environment)
    try:
        said = _typed(terminal, BEFORE[shell].format(script=script) + "; echo rea''dy\n", rb"(ready)\r\n")
        assert said == b"ready"
        # The cursor goes to the beginning and the end of the line, around which it is quoted and printed.
        os.write(terminal, line.encode() + b"\t")
        _idle(terminal, answered)
        return _typed(terminal, "\x01echo '<<\x05>>'\n", rb"\n[^\n]*<<([^\r\n']*)>>\r").decode()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def _typed(terminal, text, awaited):
    """What the shell printed that fits."""
    os.write(terminal, text.encode())
    seen, end = b"", time.monotonic() + SECONDS
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536)
            if found := re.search(awaited, seen):
                return found[1]
    raise AssertionError(f"the shell said only {seen!r}")


def _idle(terminal, answered):
    """Until becalm has answered after TAB, and the shell has then written nothing for a while."""
    end, seen = time.monotonic() + SECONDS, b""
    while time.monotonic() < end:
        was_answered = answered.exists()
        if select.select([terminal], [], [], 2.0)[0]:
            seen += os.read(terminal, 65536)
        elif seen and was_answered:
            return
    raise AssertionError(f"nothing was completed; the shell said only {seen!r}")
