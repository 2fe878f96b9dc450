"""The comparison of two builds of the packages."""

import reproduce


def test_packages_of_two_builds_are_compared_by_name(tmp_path):
    first, second = tmp_path / "dist", tmp_path / "again"
    for folder, files in (
        (first, {"a.deb": "x", "b.json": "x", "c.md": "x"}),
        (second, {"a.deb": "x", "b.json": "y", "d": ""}),
    ):
        folder.mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
    (first / "wheelhouse").mkdir()
    assert reproduce.differences(first, first) == []
    assert reproduce.differences(first, second) == [
        "b.json",
        "c.md: it was not built again",
        "d: it is not in dist/",
    ]
