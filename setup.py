"""Only what pyproject.toml cannot say: the agent is one statically linked executable inside the package.

`-C target-feature=+crt-static` is passed to the final link alone, so that proc macros still build for the host.
"""

from setuptools import setup
from setuptools_rust import Binding, RustExtension, Strip

setup(
    rust_extensions=[
        RustExtension(
            {"becalm-agent": "becalm.becalm-agent"},
            path="crates/becalm-agent/Cargo.toml",
            binding=Binding.Exec,
            rustc_flags=["-C", "target-feature=+crt-static"],
            args=["--locked"],
            strip=Strip.Debug,
            debug=False,
        )
    ],
)
