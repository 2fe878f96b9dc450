"""The origin of a package: its repository, and the description for readers outside of it."""

import re

import package_origin
import pytest
from package_origin import Origin, description, repository
from tests.places import ROOT


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://host.example/o/n.git", "https://host.example/o/n"),
        ("https://host.example/o/n/", "https://host.example/o/n"),
        ("git@host.example:g/s/n.git\n", "https://host.example/g/s/n"),
        ("ssh://git@host.example/o/n", "https://host.example/o/n"),
        ("https://ada:secret@host.example/o/n", ""),
        ("https://secret@host.example/o/n", ""),
        ("git@machine:o/n", ""),
        ("/srv/n.git", ""),
        ("file:///srv/n", ""),
        ("", ""),
    ],
)
def test_the_address_of_a_repository_is_that_of_a_public_remote(remote, address):
    assert repository(remote) == address


TEXT = "![a picture](docs/a.svg)\n\n[guide](docs/how-to/sudo.md), [part](#part), [site](https://x.example/y), `a](b)`\n"


def test_links_of_the_description_lead_to_the_repository():
    text = description(TEXT, "https://host.example/o/n", "v1")
    assert "![a picture](https://host.example/o/n/raw/v1/docs/a.svg)" in text
    assert "[guide](https://host.example/o/n/blob/v1/docs/how-to/sudo.md)" in text
    assert "[part](#part), [site](https://x.example/y)" in text


def test_without_a_repository_the_description_has_no_link_into_it():
    assert description(TEXT, "", "v1") == "\n\nguide, [part](#part), [site](https://x.example/y), `a](b)`\n"


@pytest.mark.parametrize("address", ["", "https://host.example/o/n"])
def test_the_readme_has_no_relative_link_outside_of_the_repository(address):
    text = description((ROOT / "README.md").read_text(), address, "v1")
    assert not re.findall(r"\]\((?!https?://|#)", text)


def test_an_sdist_knows_its_origin(tmp_path):
    origin = Origin("abc", "https://host.example/o/n")
    origin.write(tmp_path)
    assert package_origin.origin(tmp_path) == origin


def test_without_git_only_the_repository_can_be_known(tmp_path, monkeypatch):
    monkeypatch.delenv(package_origin.VARIABLE, raising=False)
    assert package_origin.origin(tmp_path) == Origin()
    monkeypatch.setenv(package_origin.VARIABLE, "https://host.example/o/n")
    assert package_origin.origin(tmp_path) == Origin("", "https://host.example/o/n")
