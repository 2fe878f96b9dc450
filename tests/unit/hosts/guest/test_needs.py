"""Libraries that a program needs, by its own headers: small ELF files in a directory that looks like /, and this
machine's."""

import os
import struct

import pytest
from tests.support.elves import module, program

from becalm.errors import WorkloadError
from becalm.hosts.guest import elf, needs
from becalm.hosts.guest.libraries import Loader, cached
from becalm.nouns.workload import Workload

LOADER = "/lib64/ld-linux-x86-64.so.2"


@pytest.fixture
def fake(tmp_path):
    class Root:
        path = tmp_path

        def put(self, path, data):
            target = tmp_path / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

        def needed(self, path="/bin/x", **options):
            return Loader(tmp_path).libraries(path, **options)

    root = Root()
    root.put(LOADER, program())
    root.put("/lib/x86_64-linux-gnu/libc.so.6", program())
    return root


def test_headers_are_read():
    data = program(["liba.so", "libc.so.6"], interpreter=LOADER, runpath="$ORIGIN/../lib:/opt", rpath="/old")
    assert elf.read(data) == elf.Elf(62, LOADER, ("liba.so", "libc.so.6"), ("/old",), ("$ORIGIN/../lib", "/opt"))


def test_invalid_and_truncated_elf_files_are_refused():
    with pytest.raises(elf.NotSuitable, match="not an ELF"):
        elf.read(b"#!/bin/sh")
    with pytest.raises(elf.NotSuitable, match="32-bit"):
        elf.read(program(bits=1))
    whole = program(["liba.so"], interpreter=LOADER)
    for length in (5, 40, 80, 150):
        with pytest.raises(elf.NotSuitable):
            elf.read(whole[:length])


def test_a_modules_notes():
    assert elf.notes(module("zram", "zsmalloc,lzo"))["depends"] == "zsmalloc,lzo"
    with pytest.raises(elf.NotSuitable, match="not a kernel module"):
        elf.notes(program())


def test_libraries_of_libraries(fake):
    fake.put("/bin/x", program(["liba.so"], interpreter=LOADER))
    fake.put("/usr/lib/liba.so", program(["libc.so.6"]))
    assert fake.needed() == {LOADER, "/usr/lib/liba.so", "/lib/x86_64-linux-gnu/libc.so.6"}


def test_a_static_program_needs_nothing(fake):
    fake.put("/bin/x", program())
    assert fake.needed() == set()


def test_where_is_looked_in_which_order(fake):
    """ld.so(8): DT_RPATH (unless there is a DT_RUNPATH), LD_LIBRARY_PATH, DT_RUNPATH, cache, usual directories."""
    for place in ("/rpath", "/env", "/app/lib", "/usr/lib"):
        fake.put(f"{place}/liba.so", program())
    fake.put("/bin/x", program(["liba.so"], rpath="/rpath"))
    assert fake.needed(environment_path="/env") == {"/rpath/liba.so"}
    fake.put("/app/bin/x", program(["liba.so"], rpath="/rpath", runpath="$ORIGIN/../lib"))
    assert fake.needed("/app/bin/x", environment_path="/env") == {"/env/liba.so"}
    assert fake.needed("/app/bin/x") == {"/app/bin/../lib/liba.so"}
    fake.put("/bin/y", program(["liba.so"]))
    assert fake.needed("/bin/y") == {"/usr/lib/liba.so"}


def test_a_library_for_another_processor_is_passed_over(fake):
    fake.put("/lib/liba.so", program(machine=3))
    fake.put("/usr/lib/liba.so", program())
    fake.put("/bin/x", program(["liba.so"]))
    assert fake.needed() == {"/usr/lib/liba.so"}


def cache(*entries):
    strings, table = b"", b""
    start = 48 + 24 * len(entries)
    for flags, name, path in entries:
        at = start + len(strings)
        table += struct.pack("<iIIIQ", flags, at, at + len(name) + 1, 0, 0)
        strings += f"{name}\0{path}\0".encode()
    head = b"glibc-ld.so.cache1.1" + struct.pack("<II", len(entries), len(strings)) + bytes(20)
    return head + table + strings


def test_the_loaders_cache_is_read_and_used(fake):
    data = cache(
        (0x0303, "liba.so", "/odd/v3/liba.so"), (0x0303, "liba.so", "/odd/liba.so"), (0x0003, "liba.so", "/32/a")
    )
    assert cached(data) == {"liba.so": ["/odd/v3/liba.so", "/odd/liba.so"]}
    assert cached(b"") == cached(data[:60]) == {}
    fake.put("/etc/ld.so.cache", data)
    fake.put("/odd/liba.so", program())
    fake.put("/bin/x", program(["liba.so"]))
    assert fake.needed() == {"/odd/liba.so"}


@pytest.mark.parametrize(
    ("contents", "says"),
    [
        (program(["libnone.so"]), "needs the library libnone.so, which was not found"),
        (program(interpreter="/lib/none.so"), "needs the dynamic loader /lib/none.so"),
        (program(machine=183), "for another processor"),
        (program(bits=1), "32-bit"),
    ],
)
def test_a_program_that_cannot_run_is_refused_before_anything_boots(fake, contents, says):
    fake.put("/bin/x", contents)
    with pytest.raises(WorkloadError, match=says):
        fake.needed()


@pytest.fixture
def bench(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    (tmp_path / "bin").mkdir()

    def script(name, text):
        path = tmp_path / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    return script


def test_a_script_brings_its_interpreter_also_by_env_and_by_another_script(bench):
    inner = bench("inner", "#!/bin/sh -e\n")
    for first in ("#!/bin/sh -e", "#!/usr/bin/env sh", "#!/usr/bin/env -S sh -e", f"#!{inner}"):
        path = bench("outer", f"{first}\necho\n")
        needed = needs.of_workloads([Workload.of([path])])
        assert path in needed.files
        assert any(file.endswith("/sh") for file in needed.files), first
        assert any("libc.so" in file for file in needed.files)


def test_a_script_whose_interpreter_is_missing(bench):
    path = bench("outer", "#!/no/interpreter\n")
    with pytest.raises(WorkloadError, match="needs the interpreter /no/interpreter"):
        needs.of_workloads([Workload.of([path])])


def test_files_and_programs_that_arguments_name_come_along(bench, tmp_path):
    (tmp_path / "data").write_text("x")
    (tmp_path / "in").write_text("x")
    (tmp_path / "place").mkdir()
    other = bench("other", "#!/bin/sh\n")
    needed = needs.of_workloads([Workload.of(["cat", "data", f"--from={tmp_path}/data", "place", "other"], input="in")])
    assert {f"{tmp_path}/data", f"{tmp_path}/in", other} <= needed.files
    assert {f"{tmp_path}/place", str(tmp_path)} <= needed.directories
    assert not needed.trees
    kernels = needs.of_workloads([Workload.of("cat /proc/version /sys/kernel/mm /dev/null")])
    assert not any(file.startswith(("/proc", "/sys", "/dev")) for file in kernels.files | kernels.directories)


def test_a_shells_command_line_is_taken_apart(bench, tmp_path):
    (tmp_path / "data").write_text("x")
    needed = needs.of_workloads([Workload.of("sort<data|wc -l;true 'unbalanced quotes are no error", shell=True)])
    whole = needs.of_workloads([Workload.of("sort <data | wc -l; cat 'data'", shell=True)])
    names = {os.path.basename(file) for file in whole.files}
    assert {"sh", "sort", "wc", "cat", "data"} <= names
    assert "sh" in {os.path.basename(file) for file in needed.files}


def test_programs_that_a_shell_script_names_come_along(bench):
    inner = bench("inner", "#!/bin/sh\nexec tail -n 1\n")
    script = bench("outer", '#!/bin/sh\n# sort of a comment\nx="$(head -n 1 "$1" | inner)"\nif true; then wc -l; fi\n')
    needed = needs.of_workloads([Workload.of([script])])
    names = {os.path.basename(file) for file in needed.files}
    assert {"sh", "head", "true", "wc", "tail"} <= names
    assert inner in needed.files
    assert "sort" not in names
    assert not any(directory.startswith(("/proc", "/sys")) for directory in needed.directories)


def test_files_that_are_asked_for_bring_what_they_need(bench, tmp_path):
    (tmp_path / "tree/sub").mkdir(parents=True)
    (tmp_path / "tree/sub/cat").symlink_to("/bin/cat")
    needed = needs.of_files([f"{tmp_path}/tree", "/bin/ls"])
    assert needed.trees == {f"{tmp_path}/tree"}
    assert {"/bin/ls", f"{tmp_path}/tree/sub/cat"} <= needed.files
    assert any("libc.so" in file for file in needed.files)


def test_hooks_count_and_a_directory_of_ones_own(bench, tmp_path):
    (tmp_path / "there").mkdir()
    before, after = bench("before", "#!/bin/sh\n"), bench("after", "#!/bin/sh\n")
    work = Workload.of("cat", directory="there", prepare=("before",), cleanup=("after",))
    needed = needs.of_workloads([work])
    assert {before, after} <= needed.files
    assert f"{tmp_path}/there" in needed.directories


def test_a_directory_that_is_not_there(bench):
    with pytest.raises(WorkloadError, match=r"There is no directory .*/nowhere to run true in"):
        needs.of_workloads([Workload.of("true", directory="nowhere")])


def test_a_program_that_is_not_there(bench):
    with pytest.raises(WorkloadError, match="There is no program 'nothing-of-that-name'"):
        needs.of_workloads([Workload.of("nothing-of-that-name")])


def test_python_brings_its_library(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    real = f"/usr/bin/python3.{next((n for n in range(30, 5, -1) if os.path.exists(f'/usr/bin/python3.{n}')), 0)}"
    if not os.path.exists(real):
        pytest.skip("this machine has no Python in /usr/bin")
    needed = needs.of_workloads([Workload.of([real, "-c", "pass"])])
    assert any(tree.endswith("/encodings") for tree in needed.trees)
    assert any(file.endswith("/os.py") for file in needed.files)
    assert not any("/test" in tree for tree in needed.trees)


def test_needs_add_up():
    needed, two = needs.Needs(files=frozenset("a")), needs.Needs(files=frozenset("ab"), trees=frozenset("t"))
    assert needed <= needed | two
    assert not two <= needed
    assert needed | two == two
