"""Tests of the Phoronix Test Suite, in a directory that looks like its own (after version 10.8's sources)."""

import os
import sys

import pytest
from tests.support.phoronix_suite import OPENSSL

from becalm import workloads
from becalm.errors import UsageError
from becalm.workloads import phoronix
from becalm.workloads.phoronix_profile import PhoronixMachine, words
from becalm.workloads.program_options import ProgramOptions


def test_the_default_options_make_one_workload(suite):
    place = suite("pts/openssl-3.1.0", OPENSSL)
    (workload,) = workloads.open(["phoronix:pts/openssl"])
    cpus = str(os.cpu_count())
    assert workload.argv == (str(place / "openssl"), "speed", "-a", "rsa4096", "l l", "-multi", cpus)
    assert workload.directory == str(place)
    assert workload.name == "pts/openssl-3.1.0 (RSA4096, Large)"
    assert workload.parameters == (("algo", "RSA4096"), ("input", "Large"))


@pytest.mark.parametrize(
    ("picked", "names"),
    [
        ("AES-128-GCM", ["AES-128-GCM, Large"]),
        ("algo=AES-128-GCM:input=Small", ["AES-128-GCM, Small"]),
        ("Algorithm=RSA4096:Small:Large", ["RSA4096, Small", "RSA4096, Large"]),
        ("all", ["RSA4096, Small", "RSA4096, Large", "AES-128-GCM, Small", "AES-128-GCM, Large"]),
    ],
)
def test_options_that_are_picked_make_their_combinations(suite, picked, names):
    suite("pts/openssl-3.1.0", OPENSSL)
    opened = workloads.open([f"phoronix:pts/openssl:{picked}"])
    assert [workload.name for workload in opened] == [f"pts/openssl-3.1.0 ({name})" for name in names]


def test_an_option_that_is_not_there_is_reported(suite):
    suite("pts/openssl-3.1.0", OPENSSL)
    message = r"no option 'RSA4069'\. Did you mean 'RSA4096'\? It has: algo= RSA4096, AES-128-GCM; input= Small, Large"
    with pytest.raises(UsageError, match=message):
        workloads.open(["phoronix:openssl:RSA4069"])
    suite("pts/gzip-1.0.0")
    with pytest.raises(UsageError, match=r"gzip-1\.0\.0 has no options\. Leave 'x' out"):
        workloads.open(["phoronix:gzip:x"])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pts/gzip", "pts/gzip-1.10.0"),
        ("gzip-1.9.0", "pts/gzip-1.9.0"),
        ("gzip", "pts/gzip-1.10.0"),
        ("local/gzip", "local/gzip"),
        ("pts/gzip-speed", "pts/gzip-speed-2.0.0"),
    ],
)
def test_a_test_is_found_with_or_without_version_and_repository(suite, name, expected):
    for identifier in ("pts/gzip-1.9.0", "pts/gzip-1.10.0", "local/gzip", "pts/gzip-speed-2.0.0"):
        suite(identifier)
    assert workloads.open([f"phoronix:{name}"])[0].name == expected


def test_a_test_that_is_not_installed_is_reported_with_the_way_to_get_it(suite):
    suite("pts/compress-gzip-1.2.0")
    message = (
        r"Did you mean phoronix:pts/compress-gzip-1\.2\.0\? Install it: phoronix-test-suite install pts/compres-gzip"
    )
    with pytest.raises(UsageError, match=message):
        workloads.open(["phoronix:pts/compres-gzip"])


def test_the_preparation_needs_nothing_but_the_interpreter(suite):
    suite("pts/tiny-1.0.0")
    (workload,) = workloads.open(["phoronix:tiny"])
    assert workload.prepare[:2] == (sys.executable, "-I")


def test_variables_are_those_that_the_suite_sets(suite):
    place = suite("pts/tiny-1.0.0")
    (workload,) = workloads.open(["phoronix:tiny"], environment={"OMP_NUM_THREADS": "1"})
    known = dict(workload.environment)
    assert known["HOME"] == f"{place}/"
    assert known["LOG_FILE"] == str(place / "becalm.log")
    assert known["NUM_CPU_CORES"] == str(os.cpu_count())
    assert known["NUM_CPU_JOBS"] == str(2 * os.cpu_count())
    assert known["LC_ALL"] == known["LANG"] == ""
    assert known["OMP_NUM_THREADS"] == "1"
    assert int(known["SYS_MEMORY"]) > 0
    assert 1 <= int(known["NUM_CPU_PHYSICAL_CORES"]) <= os.cpu_count()


def test_a_test_inherits_fields_from_its_base(suite):
    parent = suite(
        "pts/base-2.0.0",
        "<PhoronixTestSuite><TestSettings><Default><Arguments>-n 3</Arguments></Default></TestSettings>"
        "</PhoronixTestSuite>",
    )
    place = suite(
        "pts/child-1.0.0",
        "<PhoronixTestSuite><TestInformation><Executable>go</Executable></TestInformation>"
        "<TestProfile><Extends>pts/base-2.0.0</Extends></TestProfile></PhoronixTestSuite>",
        program="go",
    )
    (workload,) = workloads.open(["phoronix:child"])
    assert workload.argv == (str(place / "go"), "-n", "3")
    known = dict(workload.environment)
    assert known["TEST_EXTENDS"] == known["TEST_BASE"] == f"{parent}/"
    assert known["PATH"].startswith(f"{parent}/:")


def with_option(identifier, menu="", prefix="-d "):
    return (
        "<PhoronixTestSuite><TestSettings><Option><DisplayName>Title</DisplayName>"
        f"<Identifier>{identifier}</Identifier><ArgumentPrefix>{prefix}</ArgumentPrefix>{menu}</Option></TestSettings>"
        "</PhoronixTestSuite>"
    )


def test_a_value_that_only_the_user_knows_is_asked_for(suite):
    suite("pts/disk-1.0.0", with_option("auto-disks"))
    with pytest.raises(UsageError, match=r"needs a value for 'Title'.*phoronix:pts/disk-1\.0\.0:auto-disks=VALUE"):
        workloads.open(["phoronix:disk"])
    (workload,) = workloads.open(["phoronix:disk:auto-disks=/a b;c"])
    assert workload.argv[1:] == ("-d", "/a b;c")


def test_the_directory_of_the_test_is_the_default_disk(suite):
    suite("pts/fio-2.1.0", with_option("auto-disk-mount-points", prefix=""))
    assert workloads.open(["phoronix:fio"])[0].argv[1:] == ()
    assert workloads.open(["phoronix:fio:auto-disk-mount-points=/mnt"])[0].argv[1:] == ("/mnt",)


@pytest.mark.parametrize(
    ("identifier", "names"),
    [
        ("cpu-threads", ["1", "2", "4", "8", "12"]),
        ("cpu-physical-threads", ["1", "2", "4"]),
        ("ram-capacity", ["32MB", "64MB", "128MB", "256MB", "512MB", "1GB", "2GB"]),
    ],
)
def test_menus_that_the_suite_makes_on_the_machine_are_made(identifier, names):
    menu = PhoronixMachine(cpus=12, cores=4, memory_mb=4000).menu(identifier, ())
    assert [name for name, _ in menu] == names


def test_entries_that_are_not_on_the_machine_are_left_out(tmp_path):
    machine = PhoronixMachine(1, 1, 1)
    written = (("here", str(tmp_path)), ("gone", str(tmp_path / "gone")), ("program", "sh"), ("file", __file__))
    menus = {value: [name for name, _ in machine.menu(value, written)] for value in (
        "auto-directory-select", "auto-executable", "auto-file-select"
    )}  # fmt: skip
    assert menus == {"auto-directory-select": ["here"], "auto-executable": ["program"], "auto-file-select": ["file"]}
    assert machine.menu("algo", written) is None


def test_another_place_for_tests_is_heeded(suite, tmp_path, monkeypatch):
    (tmp_path / "user-config.xml").write_text(
        "<PhoronixTestSuite><Options><Installation>"
        f"<EnvironmentDirectory>{tmp_path}/elsewhere/</EnvironmentDirectory></Installation></Options>"
        "</PhoronixTestSuite>"
    )
    place = suite("pts/tiny-1.0.0", tests=tmp_path / "elsewhere")
    assert workloads.open(["phoronix:tiny"])[0].directory == str(place)
    monkeypatch.setenv("PTS_TEST_INSTALL_ROOT_PATH", str(tmp_path))
    with pytest.raises(UsageError, match="has no test 'tiny' installed"):
        workloads.open(["phoronix:tiny"])


def test_the_suites_own_way_of_writing_its_directory_is_understood(suite, tmp_path):
    (tmp_path / "user-config.xml").write_text(
        "<PhoronixTestSuite><Options><Installation>"
        "<EnvironmentDirectory>~/.phoronix-test-suite/installed-tests/</EnvironmentDirectory></Installation></Options>"
        "</PhoronixTestSuite>"
    )
    (place,) = phoronix.places(ProgramOptions())
    assert place.tests == tmp_path / "installed-tests"


def test_a_home_and_the_systems_directory_are_looked_in(monkeypatch, tmp_path):
    monkeypatch.delenv("PTS_USER_PATH_OVERRIDE", raising=False)
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    paths = {str(place.tests) for place in phoronix.places(ProgramOptions())}
    assert paths == {f"{tmp_path}/.phoronix-test-suite/installed-tests", "/var/lib/phoronix-test-suite/installed-tests"}


def test_a_test_without_its_program_or_definition_is_reported(suite, tmp_path):
    place = suite("pts/tiny-1.0.0")
    (place / "tiny").chmod(0o644)
    with pytest.raises(UsageError, match="phoronix-test-suite force-install pts/tiny-1"):
        workloads.open(["phoronix:tiny"])
    definition = tmp_path / "test-profiles/pts/tiny-1.0.0/test-definition.xml"
    definition.write_text("<broken")
    with pytest.raises(UsageError, match="is not valid XML"):
        workloads.open(["phoronix:tiny"])
    definition.unlink()
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        workloads.open(["phoronix:tiny"])


@pytest.mark.parametrize(
    "text",
    [
        "a; b",
        "a | b",
        "a > f",
        "$(rm x)",
        '"$(rm x)"',
        "`rm x`",
        '"`rm x`"',
        "*.c",
        "$$",
        "${N",
        '"$!"',
        "$1",
        "a & b",
        "~/x",
        "a # b",
        "a\nb",
    ],
)
def test_shell_syntax_is_refused(text):
    with pytest.raises(UsageError, match="Use --shell to have a shell read them"):
        words(text, {})


def test_an_unknown_variable_and_an_open_quote_are_reported():
    with pytest.raises(UsageError, match=r"need the variable GONE\. Set it with --env GONE=VALUE"):
        words("-x $GONE", {})
    with pytest.raises(UsageError, match="no closing quotation"):
        words("'a", {})
