"""Every target of `make fuzz` is one of cargo-fuzz, too."""

import re
import tomllib

from tests.places import ROOT

FUZZ = ROOT / "fuzz"


def test_each_target_has_its_row_its_file_and_its_program():
    rows = re.findall(r'name: "(\w+)"', (FUZZ / "src/lib.rs").read_text())
    programs = tomllib.loads((FUZZ / "Cargo.toml").read_text())["bin"]
    guided = {program["name"]: FUZZ / program["path"] for program in programs if "required-features" in program}
    assert len(rows) >= 8
    assert sorted(guided) == sorted(rows)
    assert set(guided.values()) == set((FUZZ / "fuzz_targets").glob("*.rs"))
    for name, path in guided.items():
        assert f"becalm_fuzz::{name}(bytes)" in path.read_text()
