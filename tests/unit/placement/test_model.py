"""The model of what sharing costs, its published programs, and what is refused of a file of them."""

import pytest

from becalm.errors import UsageError
from becalm.placement import model
from becalm.placement.model import degradations, of_sets, parsed, published

KNOWN = published()


@pytest.mark.parametrize(
    ("names", "lost"),
    [
        (("lbm", "mcf", "milc", "libquantum"), (37.553, 51.183, 32.833, 38.378)),
        (("gcc", "lbm", "povray", "namd"), (26.882, 3.677, 0.0, 0.039)),
    ],
)
def test_sets_lose_what_they_are_known_to_lose(names, lost):
    losses = degradations(KNOWN.named(names), KNOWN.cache)
    assert tuple(round(100 * loss, 3) for loss in losses) == lost


def test_a_program_alone_loses_nothing_and_more_neighbours_cost_more():
    lbm, mcf, milc = KNOWN.named(["lbm", "mcf", "milc"])
    assert degradations([mcf], KNOWN.cache) == (0.0,)
    two, three = degradations([mcf, lbm], KNOWN.cache)[0], degradations([mcf, lbm, milc], KNOWN.cache)[0]
    assert 0 < two < three < 1


def test_many_sets_at_once_are_each_as_alone():
    sets = [(0, 1, 2, 3), (2, 3, 7, 8), (4, 5, 6, 7)]
    for chosen, lost in zip(sets, of_sets(KNOWN.programs, sets, KNOWN.cache), strict=True):
        assert lost == pytest.approx(degradations([KNOWN.programs[value] for value in chosen], KNOWN.cache), abs=1e-8)


MACHINE = '[machine]\nname = "a"\ncache_mb = 8\nsmallest_mb = 1\nghz = 3\nline_bytes = 64\n'
TASK = '[[task]]\nname = "t"\nipc = 1\ndemand = 0\nlines = 1\nsolo_s = 1\ncpi_at = {}\n'


def test_a_file_of_ones_own_is_read(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(MACHINE + TASK)
    programs_file = model.read(path)
    assert programs_file.programs[0].task.name == "t"
    assert programs_file.cache.cache_mb == 8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = [", "describes no programs"),
        ("", "lacks 'machine'"),
        (MACHINE, "lacks 'task'"),
        (MACHINE + TASK.replace("ipc = 1\n", ""), "lacks 'ipc'"),
        (MACHINE + TASK.replace("ipc = 1\n", "ipc = 0\n"), "ipc is 0"),
        (MACHINE + TASK.replace("lines = 1\n", "lines = nan\n"), "lines is nan"),
        (MACHINE + TASK.replace("lines = 1\n", "lines = -1\n"), "lines is -1"),
        (MACHINE + TASK.replace("{}", "{ x = 1 }"), "describes no programs"),
        (MACHINE + TASK + TASK, "two tasks that are called t"),
        ("task = 3\n" + MACHINE, "describes no programs"),
    ],
)
def test_a_file_that_describes_nothing_is_refused_in_a_sentence(text, words):
    with pytest.raises(UsageError, match=r"\.$") as refused:
        parsed(text, "mine.toml")
    assert words in str(refused.value)
    assert "mine.toml" in str(refused.value)


def test_unknown_programs_and_files_are_named():
    with pytest.raises(UsageError, match="There is no program 'perl'"):
        KNOWN.named(["perl"])
    with pytest.raises(UsageError, match="cannot be read"):
        model.read("/nowhere/a.toml")
    with pytest.raises(UsageError, match="do not fit into"):
        degradations(KNOWN.programs * 2, KNOWN.cache)
