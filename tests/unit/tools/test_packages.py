"""The contents of packages: licences, bill of materials, the files of Debian. `make dist` makes them."""

import io
import tarfile
import zipfile

import debian_package
import licences
import packages
import pytest


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", True),
        ("(MIT OR Apache-2.0) AND GPL-2.0-only", False),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", True),
        ("GPL-2.0-only WITH LLVM-exception", False),
        ("MIT AND (BSD-3-Clause", False),
        ("MIT )", False),
        ("", False),
    ],
)
def test_a_licence_is_allowed_when_one_may_choose_so(expression, expected):
    assert licences.allowed(expression) is expected


def test_libraries_of_the_compilers_may_have_licences_that_crates_may_not():
    parts = [licences.Component(kind, "x", "1", "LGPL-2.1-or-later") for kind in ("generic", "cargo")]
    assert licences.refused(parts) == parts[1:]


def test_a_new_python_dependency_needs_a_licence(tmp_path):
    file = tmp_path / "pyproject.toml"
    file.write_text('[project]\ndependencies = ["numpy>=1", "heat>=2"]\n')
    with pytest.raises(KeyError, match="heat"):
        list(licences.python_packages(file))


def test_an_sdist_without_a_crate_is_no_sdist(tmp_path):
    path = tmp_path / "becalm-1.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("Cargo.lock", ".cargo/config.toml"):
            archive.addfile(tarfile.TarInfo(f"becalm-1/{name}"), io.BytesIO(b""))
    with pytest.raises(SystemExit, match=r"lacks the crate .*could not be built without a network"):
        packages.whole(path)


def test_a_debian_package_installs_programs_and_modules(tmp_path):
    wheel, place = tmp_path / "becalm-1-py3-none-any.whl", tmp_path / "root"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, mode in (
            ("becalm/becalm-agent", 0o755),
            ("becalm/x.py", 0o644),
            ("becalm-1.dist-info/RECORD", 0o644),
        ):
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, "x")
        archive.writestr("../../escaped", "x")
    debian_package.tree(wheel, place, {"usr/share/doc/becalm/copyright": "c"}, "changes")
    files = {str(path.relative_to(place)): path.stat().st_mode & 0o777 for path in place.rglob("*") if path.is_file()}
    modules = debian_package.MODULES
    assert files[f"{modules}/becalm/becalm-agent"] == 0o755
    assert files[f"{modules}/becalm/x.py"] == 0o644
    assert files["usr/bin/becalm"] == 0o755
    assert not any("RECORD" in name or "escaped" in name for name in files)
    assert not (tmp_path / "escaped").exists()
