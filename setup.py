"""Only what pyproject.toml cannot say: the programs inside the package, and the tables that one of them prints.

setuptools-rust says when Rust is built, rather than maturin, because one wheel can then hold executables and, once
a computation needs one, an extension module too. The agent is linked statically (also against glibc), so that the same
file runs on an older distribution and as the first process of a guest. becalm-timers alone is linked dynamically: it
loads libraries, and where it cannot start the agent does without them.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools_rust import Binding, RustExtension, build_rust

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "tools"))
import package_origin  # noqa: E402
import rust_compiler  # noqa: E402

STATIC = ["-C", "target-feature=+crt-static"]
# A linker for an older glibc than that of this machine (tools/packages.py).
DYNAMIC = ["-C", f"linker={os.environ['BECALM_TIMERS_LINKER']}"] if os.environ.get("BECALM_TIMERS_LINKER") else []
PROGRAMS = {"becalm-agent": STATIC, "becalm-helper": STATIC, "becalm-sim": STATIC, "becalm-timers": DYNAMIC}

# A target that is named, even if it is the host, is what the Makefile builds for: what is there is not built again.
os.environ.setdefault("CARGO_BUILD_TARGET", rust_compiler.target(HERE))


def features(name):
    """The agent has programs of BPF inside where they were compiled: `make bpf`, then `make install`."""
    return ["--features", "bpf"] if name == "becalm-agent" and os.environ.get("BECALM_BPF_OBJECTS") else []


class build_rust_and_tables(build_rust):
    """Build the programs, then have the agent write tables.json next to itself.

    By `cargo rustc`, which setuptools-rust does not use for executables: how one is linked is said of it alone, so that
    what they share is compiled once.
    """

    def run(self):
        package = Path(self.get_finalized_command("build_ext").get_ext_fullpath("becalm.tables")).parent
        package.mkdir(parents=True, exist_ok=True)
        programs = Path(os.environ.get("CARGO_TARGET_DIR", "target"), os.environ["CARGO_BUILD_TARGET"], "release")
        for name, flags in PROGRAMS.items():
            build = ["cargo", "rustc", "--release", "--locked", "-p", name, "--bin", name, *features(name)]
            if subprocess.run([*build, "--", *flags], check=False).returncode:
                rust_compiler.stop(f"{name} could not be compiled, for the reason above. It takes Rust and a C linker.")
            shutil.copy2(programs / name, package / name)
        if other := os.environ.get("BECALM_TABLES"):
            # The agent of another kind of machine does not run here; its tables are the same (tools/packages.py).
            tables = Path(other).read_bytes()
        else:
            tables = subprocess.run([package / "becalm-agent", "tables"], capture_output=True, check=True).stdout
        (package / "tables.json").write_bytes(tables)
        ORIGIN.write(package)
        copy_clock_sources(package / "clock_sources")


def copy_clock_sources(to):
    """Put the headers and the crate by which programs time regions into the package: `becalm clock --headers`.

    What is written from there is said in becalm/verbs/clock_headers.py.
    """
    shutil.rmtree(to, ignore_errors=True)
    crate = Path("crates/becalm-clock")
    for part in ("include", "src", "examples"):
        shutil.copytree(crate / part, to / "becalm-clock" / part)
    for name in ("Cargo.toml", "README.md"):
        shutil.copy2(crate / name, to / "becalm-clock" / name)
    for name in ("Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT"):
        shutil.copy2(name, to / name)


ORIGIN = package_origin.origin(HERE)
(VERSION,) = re.findall(r'^VERSION = "([^"]+)"', (HERE / "python/becalm/_version.py").read_text(), re.MULTILINE)
REPOSITORY = ORIGIN.repository
LINKS = {
    "Repository": REPOSITORY,
    "Documentation": f"{REPOSITORY}/tree/v{VERSION}/docs",
    "Changelog": f"{REPOSITORY}/blob/v{VERSION}/CHANGELOG.md",
    "Issues": f"{REPOSITORY}/issues",
    "Security": f"{REPOSITORY}/blob/v{VERSION}/SECURITY.md",
}

setup(
    long_description=package_origin.description(
        (HERE / "README.md").read_text(encoding="utf-8"), REPOSITORY, f"v{VERSION}"
    ),
    long_description_content_type="text/markdown",
    project_urls=LINKS if REPOSITORY else {},
    cmdclass={"build_rust": build_rust_and_tables},
    rust_extensions=[
        RustExtension({name: f"becalm.{name}"}, path=f"crates/{name}/Cargo.toml", binding=Binding.Exec)
        for name in PROGRAMS
    ],
)
