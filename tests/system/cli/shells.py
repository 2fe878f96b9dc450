"""Real shells at a terminal: a line is typed, TAB is pressed, and the shell itself prints what the line has become."""

import os
import pty
import re
import select
import signal
import sys

from tests.waiting import wait_for, wait_readable

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


def completed(shell, line, script, directory):
    """Return a line as it is after TAB.

    `script` is the path of the completion script, `directory` a directory of the PATH, into which a `becalm` is put.
    """
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
        assert _typed(terminal, BEFORE[shell].format(script=script) + "; echo rea''dy\n", rb"(ready)\r\n") == b"ready"
        os.write(terminal, line.encode() + b"\t")
        wait_for(lambda: _discarded(terminal) and answered.exists(), "becalm has answered the shell")
        # A shell reads no key while it completes: these change the line that has been completed. The cursor goes to
        # the beginning and the end of the line, around which it is quoted and printed.
        return _typed(terminal, "\x01echo '<<\x05>>'\n", rb"\n[^\n]*<<([^\r\n']*)>>\r").decode()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


def _discarded(terminal):
    """Read what the shell has written, so that it can write more; return True."""
    while select.select([terminal], [], [], 0)[0]:
        os.read(terminal, 65536)
    return True


def _typed(terminal, text, awaited):
    """Type a text, and return the part of the shell's output that fits."""
    os.write(terminal, text.encode())
    output = b""
    while not (match := re.search(awaited, output)):
        wait_readable(terminal)
        output += os.read(terminal, 65536)
    return match[1]
