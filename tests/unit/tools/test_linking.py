"""The linking of programs, by what readelf prints, and the platforms of a wheel."""

import linking
import pytest
from linking import Linking

DYNAMIC = """
  INTERP         0x000318 0x0000000000000318 0x0000000000000318 0x00001c 0x00001c R   0x1
 0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [ld-linux-x86-64.so.2]
  0x0010:   Name: GLIBC_2.2.5  Flags: none  Version: 3
  0x0020:   Name: GLIBC_2.17  Flags: none  Version: 2
  0x0030:   Name: GLIBC_2.14  Flags: none  Version: 4
"""
STATIC_PIE = " 0x000000000000001e (FLAGS)              BIND_NOW\n"


def test_the_linking_of_a_program():
    assert linking.linking(DYNAMIC) == Linking(False, 17)
    assert linking.linking(STATIC_PIE) == Linking(True)
    assert linking.linking("There is no dynamic section in this file.") == Linking(True)
    assert linking.linking("  INTERP  0x1\n") == Linking(False)
    assert linking.linking(DYNAMIC + " (NEEDED) Shared library: [libssl.so.3]").foreign == ("libssl.so.3",)


def test_a_wheel_of_static_programs_is_for_glibc_and_musl():
    programs = {"becalm-agent": Linking(True), linking.OPTIONAL: Linking(False, 17)}
    tags = "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"
    assert linking.platforms(programs, "aarch64") == tags


@pytest.mark.parametrize(
    ("name", "program", "reason"),
    [
        ("becalm-agent", Linking(False, 2), "becalm-agent is linked dynamically, and so does not run on musl"),
        (linking.OPTIONAL, Linking(False, 34), r"becalm-timers needs glibc 2\.34; the wheel is for 2\.17"),
        ("becalm-sim", Linking(True, 0, ("libssl.so.3",)), r"becalm-sim needs libssl\.so\.3, which manylinux does not"),
    ],
)
def test_a_program_that_does_not_run_everywhere_is_refused(name, program, reason):
    with pytest.raises(SystemExit, match=reason):
        linking.platforms({name: program}, "x86_64")


def test_the_linker_is_for_the_oldest_glibc(tmp_path):
    path = linking.zig_linker(tmp_path, tmp_path / "a venv/bin/python", "aarch64")
    assert path.stat().st_mode & 0o111
    assert f'"{tmp_path}/a venv/bin/python" -m ziglang cc -target aarch64-linux-gnu.2.17' in path.read_text()
