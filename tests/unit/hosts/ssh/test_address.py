"""Addresses and names of other machines, and what ssh's words mean: no machine is reached here."""

import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from becalm import hosts
from becalm.errors import UsageError
from becalm.hosts import Access, aliases
from becalm.hosts.ssh import install
from becalm.hosts.ssh.address import Address, parse
from becalm.hosts.ssh.connection import SshConnection, explain


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("ssh://bench", Address("bench")),
        ("ssh://bench/", Address("bench")),
        ("ssh://ada@bench.example:2222", Address("bench.example", "ada", 2222)),
        ("ssh://ada@example.org@bench", Address("bench", "ada@example.org")),
        ("ssh://192.0.2.7", Address("192.0.2.7")),
        ("ssh://[2001:db8::7]:22", Address("2001:db8::7", port=22)),
        ("ssh://root@[fe80::1%eth0]", Address("fe80::1%eth0", "root")),
    ],
)
def test_addresses(url, address):
    assert parse(url) == address
    assert parse(str(address)) == address


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("bench", "ssh://"),
        ("ssh:bench", "ssh://"),
        ("ssh://", "ssh://"),
        ("http://bench", "ssh://"),
        ("ssh://-oProxyCommand=id", "not a valid machine name"),
        ("ssh://ada@-v", "not a valid machine name"),
        ("ssh://-l@bench", "not a valid user name"),
        ("ssh://@bench", "not a valid user name"),
        ("ssh://ada:secret@bench", "password"),
        ("ssh://bench:0", "not a valid port"),
        ("ssh://bench:65536", "not a valid port"),
        ("ssh://bench:", "not a valid port"),
        ("ssh://bench:２２", "not a valid port"),
        ("ssh://[bench]", "not an IPv6"),
        ("ssh://[::1]22", "not an IPv6"),
        ("ssh://[::1", "not an IPv6"),
        ("ssh://bench;id", "not a valid machine name"),
        ("ssh://$(id)", "not a valid machine name"),
        ("ssh://a b", "not a valid machine name"),
        ("ssh://bench/path", "not a valid machine name"),
        ("ssh://bench\nx", "not a valid machine name"),
        ("ssh://a`id`@bench", "not a valid user name"),
    ],
)
def test_invalid_addresses_are_refused(url, words):
    with pytest.raises(UsageError, match=words):
        parse(url)


@given(st.text(alphabet=st.sampled_from("ab1-_.:@[]%/ ;$`'\"\\\n|é"), max_size=20))
def test_an_accepted_address_is_harmless_as_an_argument(text):
    try:
        address = parse(f"ssh://{text}")
    except UsageError:
        return
    *options, name = address.arguments()
    assert options[-1] == "--"
    for word in (name, address.user or "a"):
        assert word[0] != "-"
        assert not set(word) & set(" ;$`'\"\\\n|/")
    assert parse(str(address)) == address


def test_a_socket_has_a_short_path_wherever_temporary_files_go(tmp_path, monkeypatch):
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    connection = SshConnection(Address("bench"))
    (socket,) = [word for word in connection._command("true") if word.startswith("ControlPath=")]
    # unix(7): 108 bytes with the one that ends it; ssh adds a dot and 16 letters while it makes one.
    assert len(socket.removeprefix("ControlPath=")) + 17 < 108
    assert stat.S_IMODE(Path(socket.removeprefix("ControlPath=")).parent.stat().st_mode) == 0o700
    connection.close()
    assert not Path(socket.removeprefix("ControlPath=")).parent.exists()
    assert list(deep.iterdir()) == []


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "becalm/hosts"


def test_names_are_kept_found_and_forgotten(config, tmp_path):
    (tmp_path / "with 'quote\"").write_text("")
    assert aliases.names() == []
    aliases.add("bench", "ssh://ada@bench.example:2222")
    aliases.add("lab.1", "ssh://lab", str(tmp_path / "with 'quote\""))
    assert aliases.names() == ["bench", "lab.1"]
    assert aliases.find("lab.1").config == str(tmp_path / "with 'quote\"")
    assert aliases.find("bench") == aliases.NamedMachine("bench", "ssh://ada@bench.example:2222")
    aliases.remove("bench")
    assert aliases.names() == ["lab.1"]


@pytest.mark.parametrize(
    ("name", "url", "words"),
    [
        ("local", "ssh://x", "kind of host"),
        ("ssh", "ssh://x", "kind of host"),
        ("a/b", "ssh://x", "not a valid machine name"),
        ("..", "ssh://x", "not a valid machine name"),
        ("-x", "ssh://x", "not a valid machine name"),
        ("x", "ssh://-x", "not a valid machine name"),
    ],
)
def test_names_that_are_refused(config, name, url, words):
    with pytest.raises(UsageError, match=words):
        aliases.add(name, url)
    assert aliases.names() == []


def test_a_name_is_given_once_and_a_missing_one_is_reported(config):
    aliases.add("bench", "ssh://one")
    with pytest.raises(UsageError, match="becalm host remove bench"):
        aliases.add("bench", "ssh://two")
    assert aliases.find("bench").url == "ssh://one"
    with pytest.raises(UsageError, match="Known: bench"):
        aliases.find("bunch")
    with pytest.raises(UsageError, match="Did you mean 'bench'"):
        hosts.open("bunch")
    with pytest.raises(UsageError, match="cannot be read"):
        aliases.add("lab", "ssh://lab", "/no/such/file")


@pytest.mark.parametrize("text", ["url = 7\n", "ulr = 'ssh://x'\n", "url = \n", "url = 'ssh://x'\nport = 7\n"])
def test_a_file_that_is_no_machine_is_reported(config, text):
    config.mkdir(parents=True)
    (config / "bench.toml").write_text(text)
    with pytest.raises(UsageError, match=r"bench\.toml"):
        aliases.find("bench")


@pytest.mark.parametrize(
    ("err", "words"),
    [
        ("ssh: connect to host bench port 22: Connection timed out\r\n", "does not answer"),
        ("ssh: connect to host bench port 22: No route to host", "does not answer"),
        ("Connection closed by 192.0.2.7 port 22", "cannot be reached: Connection closed by"),
        ("", "ssh gave no reason"),
        ("Host key for bench has changed and you have requested strict checking.\nHost key verification failed.",
         "has changed"),
        ("ada@bench: Permission denied (publickey,password).", "does not let you in"),
    ],
)  # fmt: skip
def test_errors_of_ssh_become_sentences(err, words):
    explanation, _ = explain(err, Address("bench", "ada"))
    assert words in explanation
    assert explanation.endswith("Nothing was started.")


def test_host_keys_are_always_checked_and_nothing_given_is_part_of_a_command(tmp_path):
    agent = install.AgentBinary(b"x", "0" * 64, ())
    connection = SshConnection(Address("bench", "ada", 22, "/etc/my config"))
    templates = (install.LOOK, install.COPY, install.SUDO_HELPER, install.SUDO_AGENT, install.START)
    for template in templates:
        command = connection._command(agent.script(template, sudo="", helper="", silence="60", spool=""))
        assert not any("HostKey" in word or "KnownHosts" in word for word in command)
        assert command[-2:-1] == ["bench"]
        assert command[-3] == "--"
        assert command[-1].startswith("exec /bin/sh -c '")
    connection.close()


def test_a_user_and_a_directory_travel_as_lines():
    lines = install.start_lines(Access(user="$(id)", root="/a 'b'"))
    assert lines == b"$(id)\n/a 'b'\n"
    with pytest.raises(UsageError, match="line break"):
        install.start_lines(Access(user="a\nb"))
