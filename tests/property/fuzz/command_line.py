"""becalm's command line in this process: what it says to whatever it is given."""

import contextlib
import io
import sys
from unittest import mock

import pytest

from becalm.cli.main import main


def output_of(*words):
    """Return the output of a command, on either stream."""
    heard = io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["becalm", *words]),
        contextlib.redirect_stdout(heard),
        contextlib.redirect_stderr(heard),
        pytest.raises(SystemExit),
    ):
        main()
    return heard.getvalue()
