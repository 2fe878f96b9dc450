"""Names are printed as they are: brackets and colons are no markup of the terminal's library."""

import pytest

from becalm.nouns.finding import Finding
from becalm.report.design.terminal import grid
from becalm.report.table import Table
from becalm.report.terminal import console, findings


@pytest.mark.parametrize("name", ["policy[batch]", "echo [bold]", "[/x]", "a :warning: b"])
def test_text_in_brackets_is_printed(capsys, name):
    screen = console(plain=True)
    screen.print(grid(Table("", ("term",), ((name,),)), True))
    screen.print(findings((Finding("note", f"About {name}."),), True))
    out = capsys.readouterr().out
    assert out.count(name) == 2
