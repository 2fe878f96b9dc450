"""Archives whose bytes depend on their contents only."""

import io
import tarfile
import zipfile

import archives
import pytest

EPOCH = 1_700_000_000
TAGS = ("py3", "none", "manylinux_2_17_x86_64.musllinux_1_1_x86_64")


def sdist(path, *, mtime, mode, names):
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(f"becalm-1/{name}")
            member.size, member.mtime, member.mode, member.uname = (
                1,
                mtime,
                mode | (0o100 if name == "run" else 0),
                "ada",
            )
            archive.addfile(member, io.BytesIO(b"x"))
    return path


def test_an_sdist_has_the_same_bytes_whenever_and_wherever_it_was_packed(tmp_path):
    first = sdist(tmp_path / "first.tar.gz", mtime=1, mode=0o600, names=["a", "run"])
    second = sdist(tmp_path / "second.tar.gz", mtime=2, mode=0o644, names=["run", "a"])
    for path in (first, second):
        archives.sdist(path, EPOCH)
    assert first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as archive:
        members = [(member.name, member.mode, member.mtime, member.uid, member.uname) for member in archive]
    assert members == [("becalm-1/a", 0o644, EPOCH, 0, ""), ("becalm-1/run", 0o755, EPOCH, 0, "")]


def wheel(path, *, date, mode, names):
    contents = {
        "becalm/run": b"run",
        "becalm/x.py": b"x",
        "becalm-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n\n",
        "becalm-1.dist-info/RECORD": b"old",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            info = zipfile.ZipInfo(name, date)
            info.external_attr = (mode | (0o100 if name.endswith("run") else 0)) << 16
            archive.writestr(info, contents[name])
    return path


NAMES = ["becalm-1.dist-info/WHEEL", "becalm/x.py", "becalm-1.dist-info/RECORD", "becalm/run"]


def test_a_wheel_has_the_same_bytes_whenever_and_wherever_it_was_packed(tmp_path):
    results = []
    for number, (date, mode) in enumerate([((1999, 1, 1, 0, 0, 0), 0o600), ((2020, 1, 1, 0, 0, 0), 0o664)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        built = wheel(
            folder / "becalm-1-cp311-cp311-linux_x86_64.whl", date=date, mode=mode, names=NAMES[:: 1 - 2 * number]
        )
        results.append(archives.wheel(built, folder, TAGS, EPOCH))
    assert results[0].name == "becalm-1-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl"
    assert results[0].read_bytes() == results[1].read_bytes()
    with zipfile.ZipFile(results[0]) as archive:
        assert archive.namelist() == ["becalm/run", "becalm/x.py", NAMES[2], NAMES[0]]
        assert {info.external_attr >> 16 for info in archive.infolist()} == {0o100755, 0o100644}
        assert archive.getinfo("becalm/run").external_attr >> 16 == 0o100755
        text = archive.read(NAMES[0]).decode()
        record = archive.read(NAMES[2]).decode()
    lines = "Tag: py3-none-manylinux_2_17_x86_64\nTag: py3-none-musllinux_1_1_x86_64\n"
    assert text == f"Wheel-Version: 1.0\n{lines}\n"
    assert "becalm/x.py,sha256=LXEWQrcmsEQBYnyp-6wy9chTD7GQPMTbAiWHF5IaSIE,1\n" in record
    assert record.endswith("becalm-1.dist-info/RECORD,,\n")


def test_a_time_before_the_first_of_zip_is_that_first(tmp_path):
    built = wheel(tmp_path / "becalm-1-a-b-c.whl", date=(2020, 1, 1, 0, 0, 0), mode=0o644, names=NAMES)
    with zipfile.ZipFile(archives.wheel(built, tmp_path, TAGS, 0)) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_differences_are_named_by_member(tmp_path):
    first = sdist(tmp_path / "first.tar.gz", mtime=1, mode=0o600, names=["a", "run"])
    second = sdist(tmp_path / "second.tar.gz", mtime=1, mode=0o600, names=["a", "b", "run"])
    assert archives.differences(first, first) == []
    assert archives.differences(first, second) == ["first.tar.gz: becalm-1/b"]
    later = sdist(tmp_path / "later.tar.gz", mtime=2, mode=0o600, names=["a", "run"])
    assert archives.differences(first, later) == ["first.tar.gz: how it is packed"]
    for name in ("a.deb", "b.deb"):
        (tmp_path / name).write_text(name)
    assert archives.differences(tmp_path / "a.deb", tmp_path / "b.deb") == ["a.deb"]


def test_special_files_are_not_packed(tmp_path):
    path = tmp_path / "x.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo("fifo")
        member.type = tarfile.FIFOTYPE
        archive.addfile(member)
    with pytest.raises(ValueError, match="fifo is not a plain file"):
        archives.read(path)
