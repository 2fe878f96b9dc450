"""Sessions that the tutorials play: only on simulated machines. tests/contract/tools plays them."""

import pytest
import session


@pytest.mark.parametrize(
    "line",
    [
        "$ becalm run -- true",
        "$ becalm run --host sim:drift -- spin 20ms",
        "$ becalm run --host ssh://a --seed 1 -- true",
        "$ rm -r x",
    ],
)
def test_other_commands_are_not_played(line):
    with pytest.raises(ValueError, match="Only becalm on a simulated host"):
        session.played(line)
