"""The headers and the crate for programs of one's own, as they are written."""

import tomllib

import pytest
from click.testing import CliRunner

import becalm
from becalm.cli.main import becalm as group
from becalm.errors import UsageError
from becalm.verbs.clock_headers import standalone


def test_headers_and_a_crate_that_stands_alone_are_written(tmp_path):
    to = tmp_path / "include"
    headers = becalm.write_headers(to)
    names = [path.name for path in headers]
    assert {"becalm_clock.h", "becalm_counters.h", "becalm_regions.h"} == set(names)
    assert all(path.read_text().startswith(f"/* {path.name}:") for path in headers)
    manifest = tomllib.loads((to / "becalm-clock/Cargo.toml").read_text())
    assert manifest["package"]["version"] == becalm.__version__
    assert manifest["package"]["license"] == "Apache-2.0 OR MIT"
    assert not {"lints", "test"} & set(manifest)
    for part in ("src/lib.rs", "src/regions/place.rs", "examples/regions.rs", "README.md", "LICENSE-MIT"):
        assert (to / "becalm-clock" / part).is_file(), part
    # Again, over what is there.
    assert becalm.write_headers(to) == headers


def test_a_manifest_names_what_it_took_from_its_workspace():
    text = "[package]\nname = 'x'\nversion.workspace = true\n\n[lints]\nworkspace = true\n\n[[test]]\nname = 'y'\n"
    assert tomllib.loads(standalone(text, {"version": "7"})) == {"package": {"name": "x", "version": "7"}}


def test_typed_it_names_the_headers_and_takes_no_other_option(tmp_path):
    done = CliRunner().invoke(group, ["clock", "--headers", str(tmp_path / "h")])
    assert done.exit_code == 0
    assert done.output.splitlines()[0] == str(tmp_path / "h/becalm_clock.h")
    done = CliRunner().invoke(group, ["clock", "--headers", str(tmp_path / "h"), "--quick"])
    assert "--headers measures nothing, so --quick has no effect" in f"{done.output}{done.exception}"


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="headers cannot be written to"):
        becalm.write_headers(tmp_path / "file" / "x")
