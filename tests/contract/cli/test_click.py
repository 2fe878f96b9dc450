"""The versions of click that pyproject.toml allows."""

import subprocess
import sys


def test_options_are_made_with_a_click_whose_types_are_not_generic():
    """Debian 13 has click 8.1, whose types are not."""
    program = (
        "import click, typing\n"
        "click.ParamType.__class_getitem__ = None\n"
        "from becalm.cli.main import becalm\n"
        "from click.testing import CliRunner\n"
        "done = CliRunner().invoke(becalm, ['run', '--help'])\n"
        "assert done.exit_code == 0, repr(done.exception)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
