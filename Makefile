# Two commands do everything on a fresh Debian or Ubuntu machine with Rust and Python: make demo, make test.
SHELL := /bin/bash
PYTHON ?= python3
# What `make demo` installs for you, and what development and tests use: the latter runs the source tree itself.
USER_VENV := .venv
VENV := .venv-dev
BIN := $(VENV)/bin
AGENT := python/becalm/becalm-agent
# The engine's tables (knobs, columns, sources), which the Python package reads.
TABLES := python/becalm/tables.json
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
APT := postgresql hyperfine sudo gcc libc6-dev openssh-server openssh-client qemu-system-x86 cpio mmdebstrap sysstat \
  procps slurmctld slurmd slurm-client munge
# Kernels that guests are tested with: CFS and EEVDF.
KERNELS := 6.1 6.12

.PHONY: demo test fuzz lint docs build install check-tools debian-packages guest-kernels guest-image clean format
.DEFAULT_GOAL := build

# --- what is needed -------------------------------------------------------------------------------------------------

check-tools:
	@command -v cargo >/dev/null || { echo "Rust is missing: cargo was not found. Install it with rustup or your distribution."; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "Python is missing: $(PYTHON) was not found. Install Python 3.11 or newer."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) -V). Name another one: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -y -q python3-venv; } || \
	  { echo "Python's venv module is missing. On Debian and Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	@command -v cc >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -q && apt-get install -y -q gcc libc6-dev; } || \
	  { echo "A C linker is missing. On Debian and Ubuntu: sudo apt-get install gcc libc6-dev"; exit 1; }

debian-packages:
	@missing=""; for p in $(APT); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $$missing; \
	else echo "Not installed:$$missing. The tests that need them will be skipped and say so."; fi

%/bin/python: | check-tools
	$(PYTHON) -m venv $*

# --- building -------------------------------------------------------------------------------------------------------

# Development and tests: the source tree itself is on the path, with the agent built beside it.
$(VENV)/.develop: pyproject.toml | $(BIN)/python
	$(BIN)/python tools/requirements.py dev | $(BIN)/pip install -q --disable-pip-version-check -r /dev/stdin
	$(BIN)/python -c "import sysconfig, pathlib; pathlib.Path(sysconfig.get_path('purelib'), 'becalm-develop.pth').write_text(str(pathlib.Path('python').resolve()) + '\n')"
	touch $@

$(AGENT): $(RUST) | check-tools
	cargo rustc -q --release --locked -p becalm-agent --bin becalm-agent -- -C target-feature=+crt-static
	cp target/release/becalm-agent $@.new && mv $@.new $@

$(TABLES): $(AGENT)
	$(AGENT) tables > $@.new && mv $@.new $@

build: $(VENV)/.develop $(AGENT) $(TABLES)

install: check-tools
	$(PYTHON) -m pip install .

# --- the demonstration ----------------------------------------------------------------------------------------------

$(USER_VENV)/.demo: pyproject.toml setup.py $(RUST) $(shell find python -name '*.py') | $(USER_VENV)/bin/python
	$(USER_VENV)/bin/pip install -q --disable-pip-version-check .
	touch $@

DEMO := $(USER_VENV)/demo-input
BECALM := $(USER_VENV)/bin/becalm

demo: $(USER_VENV)/.demo
	@cat $$($(USER_VENV)/bin/python -c 'import os; print(os.path.dirname(os.__file__))')/*.py 2>/dev/null | head -c 3000000 > $(DEMO)
	@echo; echo '$$ becalm compare "gzip -5 -c INPUT" "gzip -6 -c INPUT"'
	@$(BECALM) compare --budget 20s --name 'gzip -5' --name 'gzip -6' 'gzip -5 -c $(DEMO)' 'gzip -6 -c $(DEMO)'
	@echo; echo '$$ becalm compare "sha256sum INPUT" "sha256sum INPUT"      # the same program twice'
	@$(BECALM) compare --budget 20s 'sha256sum $(DEMO)' 'sha256sum $(DEMO)'
	@echo; echo '$$ becalm run -- sort INPUT'
	@$(BECALM) run --budget 8s -- sort -o /dev/null $(DEMO)
	@echo; echo 'That was becalm. Your turn: . $(USER_VENV)/bin/activate; becalm --help'

# --- tests ----------------------------------------------------------------------------------------------------------

# Kept in the cache directory, 130 MB each; where they cannot be had, the tests that need them say so.
guest-kernels: debian-packages build
	@for v in $(KERNELS); do \
	  $(BIN)/python -m becalm guest list 2>/dev/null | grep -q "^$$v[.-]" && continue; \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    $(BIN)/python -m becalm guest prepare $$v || { apt-get update -q; $(BIN)/python -m becalm guest prepare $$v; } || true; \
	  else echo "The kernel $$v for guests is not here: becalm guest prepare $$v. The tests that need it will be skipped."; fi; done

# A Debian that boots by GRUB, for tests of other machines: 550 MB, kept beside the kernels.
guest-image: debian-packages build
	@PYTHONPATH=python $(BIN)/python tests/guest/image.py >/dev/null || echo "The tests that need it will be skipped."

# Virtual machines mostly wait for their own clocks: their tests go on beside the others, and say so when those are done.
GUESTS := $(VENV)/guest-tests.txt
test: guest-kernels guest-image
	cargo test --workspace --locked
	@echo "The tests of virtual machines run meanwhile; what they say comes at the end."
	@env --default-signal=INT,QUIT $(BIN)/python -m pytest -m guest >$(GUESTS) 2>&1 & guests=$$!; \
	$(BIN)/python -m pytest -m 'not guest'; others=$$?; \
	wait $$guests; guests=$$?; cat $(GUESTS); exit $$(( others || guests ))

# Bytes that nobody has thought of, for a minute, on any toolchain; the targets of cargo-fuzz are compiled, too.
FUZZ ?= --seconds 60
fuzz: check-tools
	CUSTOM_LIBFUZZER_PATH=/nowhere/libfuzzer.a cargo check -q --manifest-path fuzz/Cargo.toml --locked --bins
	cargo run -q --release --manifest-path fuzz/Cargo.toml --locked --no-default-features -- $(FUZZ)

lint: build
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --manifest-path fuzz/Cargo.toml --no-default-features --locked -- -D warnings
	cargo fmt --manifest-path fuzz/Cargo.toml --check

# The site of the documents: build/docs/index.html. A warning, for example of a link that leads nowhere, is a failure.
docs: build
	$(BIN)/sphinx-build -q -E -a -W --keep-going -n -j auto -d build/doctrees docs build/docs
	@echo "Open build/docs/index.html."

format: build
	$(BIN)/ruff format .
	cargo fmt
	cargo fmt --manifest-path fuzz/Cargo.toml

clean:
	rm -rf target fuzz/target build dist $(USER_VENV) $(VENV) $(AGENT) $(TABLES) python/*.egg-info
