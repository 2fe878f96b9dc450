"""Only what pyproject.toml cannot say: the agent is one statically linked executable inside the package, and the tables
that the package shares with it are what that executable prints.

setuptools-rust builds it, rather than maturin, because one wheel can then hold an executable and, once a computation
needs one, an extension module too. The agent is linked statically (also against glibc), so that the same file runs on
an older distribution and as the first process of a guest.
"""

import os
import re
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools_rust import Binding, RustExtension, Strip, build_rust

STATIC = "-C target-feature=+crt-static"

if "CARGO_BUILD_TARGET" not in os.environ:
    # A target that is named, even if it is the host, keeps these flags away from procedural macros, which cannot be
    # linked statically.
    version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    os.environ["CARGO_BUILD_TARGET"] = re.search(r"^host: (\S+)", version, re.MULTILINE)[1]


class build_rust_and_tables(build_rust):
    """Build the agent, then have it write tables.json beside itself."""

    def run(self):
        super().run()
        package = Path(self.get_finalized_command("build_ext").get_ext_fullpath("becalm.tables")).parent
        tables = subprocess.run([package / "becalm-agent", "tables"], capture_output=True, check=True).stdout
        (package / "tables.json").write_bytes(tables)


setup(
    cmdclass={"build_rust": build_rust_and_tables},
    rust_extensions=[
        RustExtension(
            {name: f"becalm.{name}"},
            path=f"crates/{name}/Cargo.toml",
            binding=Binding.Exec,
            env={**os.environ, "RUSTFLAGS": f"{os.environ.get('RUSTFLAGS', '')} {STATIC}".strip()},
            args=["--locked"],
            strip=Strip.Debug,
            debug=False,
        )
        for name in ("becalm-agent", "becalm-sim")
    ],
)
