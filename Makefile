# Two commands do everything on a machine with Rust, Python 3.11, make and a C compiler: make demo, make test.
SHELL := /bin/bash
PYTHON ?= python3
# The environment that `make demo` installs becalm into, and that of development and tests, which runs the source tree.
USER_VENV := .venv
VENV := .venv-dev
BIN := $(VENV)/bin
AGENT := python/becalm/becalm-agent
# The part that runs as root: settings and their journal, and nothing that could start a program.
HELPER := python/becalm/becalm-helper
SIMULATOR := python/becalm/becalm-sim
# The one program that is linked dynamically, to load the timers of libraries.
TIMERS := python/becalm/becalm-timers
# Programs of the kernel, which the agent has inside from the first `make bpf` in this tree on.
BPF := target/bpf/switches.bpf.o target/bpf/waits.bpf.o
# The engine's tables (knobs, columns, sources), which the Python package reads.
TABLES := python/becalm/tables.json
RUST := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

ARM := aarch64-unknown-linux-gnu

.PHONY: bpf demo test test-rust test-unit test-contract test-system test-long measure soak boots criterion mutants bench fuzz atheris fuzz-imports fuzz-long kills-long lint check-arm check-crate dist wheelhouse reproduce docs build install check-tools debian-packages compilers guests fresh installed clean format
.DEFAULT_GOAL := build

# --- what is needed -------------------------------------------------------------------------------------------------

check-tools:
	@command -v $(PYTHON) >/dev/null || { echo "Python is missing: $(PYTHON) was not found. Install Python 3.11 or newer."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) -V). Name another one: make PYTHON=python3.12 …"; exit 1; }
	@$(PYTHON) tools/rust_compiler.py
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "Python's venv module is missing. On Debian and Ubuntu: sudo apt-get install python3-venv"; exit 1; }
	@command -v cc >/dev/null || \
	  { echo "A C linker is missing. On Debian and Ubuntu: sudo apt-get install gcc libc6-dev"; exit 1; }

# The packages that tools/programs.toml lists for the system tier. Lists them and asks first; YES=1 answers yes.
# ASKED=1: the question has been answered.
debian-packages: check-tools
	@[ -n "$(ASKED)" ] || $(PYTHON) tools/programs.py install system

%/bin/python: | check-tools
	$(PYTHON) -m venv $*

# Programs are built as setup.py does, so that a wheel need not do it again. Flags for linking are given to the program
# only, so that the crates that they share are compiled once.
HOST = $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
PROGRAM = cargo rustc -q --release --locked --target $(HOST)
STATICALLY = -- -C target-feature=+crt-static

# The agent gets the BPF programs where they were compiled.
WITH_BPF = $(if $(filter-out $(words $(wildcard $(BPF))),$(words $(BPF))),,BECALM_BPF_OBJECTS=$(abspath $(dir $(firstword $(BPF)))))

# A missing requirement is a failure on CI; elsewhere the reason is printed.
MISSING = { echo "$(1)" >&2; [ "$$CI" != true ]; }

HAVE_ARM = { [ -d "$$(rustc --print target-libdir --target $(ARM))" ] || rustup -q target add $(ARM) 2>/dev/null; }
NO_ARM = Rust cannot compile for Armv8 and so becalm-clock is not tried for it: rustup target add $(ARM)

# Compilers that tests use in addition to this machine's Rust and C.
compilers: | debian-packages
	@$(HAVE_ARM) || $(call MISSING,$(NO_ARM))
	@if command -v clang >/dev/null && [ -e /usr/include/bpf/bpf_helpers.h ]; then $(MAKE) --no-print-directory $(BPF); else \
	  $(call MISSING,Recording by BPF is not tried; it needs: apt-get install clang libbpf-dev); fi

# --- building -------------------------------------------------------------------------------------------------------

# Development and tests: the source tree itself is on the path, with the agent built next to it.
$(VENV)/.develop: pyproject.toml | $(BIN)/python
	$(BIN)/python tools/requirements.py dev | $(BIN)/pip install -q --disable-pip-version-check -r /dev/stdin
	$(BIN)/python -c "import sysconfig, pathlib; pathlib.Path(sysconfig.get_path('purelib'), 'becalm-develop.pth').write_text(str(pathlib.Path('python').resolve()) + '\n')"
	touch $@

$(AGENT): $(RUST) $(wildcard $(BPF)) | check-tools
	$(WITH_BPF) $(PROGRAM) -p becalm-agent --bin becalm-agent $(if $(WITH_BPF),--features bpf) $(STATICALLY)
	cp target/$(HOST)/release/becalm-agent $@.new && mv $@.new $@

$(HELPER): $(RUST) | check-tools
	$(PROGRAM) -p becalm-helper --bin becalm-helper $(STATICALLY)
	cp target/$(HOST)/release/becalm-helper $@.new && mv $@.new $@

$(SIMULATOR): $(RUST) | check-tools
	$(PROGRAM) -p becalm-sim --bin becalm-sim $(STATICALLY)
	cp target/$(HOST)/release/becalm-sim $@.new && mv $@.new $@

$(TIMERS): $(RUST) | check-tools
	$(PROGRAM) -p becalm-timers --bin becalm-timers
	cp target/$(HOST)/release/becalm-timers $@.new && mv $@.new $@

$(TABLES): $(AGENT)
	$(AGENT) tables > $@.new && mv $@.new $@

# For `--by bpf`; nothing else needs it. By -idirafter Debian's place of <asm/types.h> is found.
target/bpf/%.bpf.o: crates/becalm-agent/bpf/%.bpf.c
	@command -v clang >/dev/null && [ -e /usr/include/bpf/bpf_helpers.h ] || \
	  { echo "Programs of BPF are compiled by clang with libbpf's headers, and one of both is missing. On Debian and Ubuntu: sudo apt-get install clang libbpf-dev. becalm works without: make build, after rm -f $(BPF)"; exit 1; }
	@mkdir -p $(@D)
	clang -O2 -g -Wall -Werror -target bpf -ffile-prefix-map=$(CURDIR)=. -fdebug-compilation-dir=. \
	  -idirafter /usr/include/$(shell uname -m)-linux-gnu -c $< -o $@.new && mv $@.new $@

bpf: $(BPF)
	@$(MAKE) --no-print-directory build

build: $(VENV)/.develop $(AGENT) $(HELPER) $(SIMULATOR) $(TIMERS) $(TABLES)

install: check-tools
	$(WITH_BPF) $(PYTHON) -m pip install .

# --- the demonstration ----------------------------------------------------------------------------------------------

$(USER_VENV)/.demo: pyproject.toml setup.py $(RUST) $(shell find python -name '*.py') | $(USER_VENV)/bin/python
	$(USER_VENV)/bin/pip install -q --disable-pip-version-check .
	touch $@

# A minute: a difference of 1 % that is seen, one that is not there, settings that are found and undone.
demo: $(USER_VENV)/.demo
	@$(USER_VENV)/bin/python tools/demo.py $(USER_VENV)/bin/becalm

# --- tests ----------------------------------------------------------------------------------------------------------

# In tiers, by what tests rest on (CONTRIBUTING, "Tests"). `make test TESTS='-k store'` passes words on to pytest.
TESTS ?=
RUN_TESTS = $(BIN)/python tools/run_tests.py
WITH_TESTS = $(if $(TESTS),-- $(TESTS))

# Memory, the built agent and real processes: minutes, on nothing but Rust, Python, make and a C compiler.
test: build
	$(RUN_TESTS) rust unit contract $(WITH_TESTS)

test-rust: check-tools
	$(PYTHON) tools/run_tests.py rust

test-unit: build
	$(RUN_TESTS) unit $(WITH_TESTS)

test-contract: build
	$(RUN_TESTS) contract $(WITH_TESTS)

# Guests, restarts, kills on real settings, programs that becalm did not write: a quarter of an hour as root, on a machine
# without other work. Lists the packages that it needs and asks before it installs them; YES=1 answers yes.
test-system: debian-packages compilers
	@$(MAKE) --no-print-directory -j2 guests ASKED=1
	$(RUN_TESTS) system $(WITH_TESTS)

# The same as `make test` with many samples in simulations and property tests: an hour.
test-long: build
	BECALM_SAMPLES=long PROPTEST_CASES=1000 $(RUN_TESTS) rust unit contract $(WITH_TESTS)

# Figures of this machine, which must be quiet (as root). Nothing else depends on them.
measure: build
	@$(PYTHON) tools/programs.py install measurement
	BECALM_QUIET=1 $(RUN_TESTS) measurement $(WITH_TESTS)

# Show whether tests ever fail by chance: all tiers but measurement ten times, every second time next to a load.
SOAK ?= 10 --load
soak: compilers
	@$(MAKE) --no-print-directory guests ASKED=1
	$(BIN)/python tools/soak.py $(SOAK)

# Kernels, a Debian and an NFS server in the cache directory.
guests: debian-packages build
	@PYTHONPATH=. $(BIN)/python tools/prepare_guests.py

# A whole search through a dozen restarts of an emulated Debian, killed and its power cut: a quarter of an hour.
boots: guests
	BECALM_BOOTS=1 $(BIN)/python -m pytest -q tests/system/guest/test_boot_study.py

# The source criterion next to the real crate, which takes minutes to compile.
criterion: build
	BECALM_CRITERION=1 $(BIN)/python -m pytest -q tests/system/workloads/test_criterion.py

# Name the small errors that no test notices: in the arithmetic of Python, and, by cargo-mutants, in the engine's journal,
# restoring and load. About an hour; "make mutants MUTANTS='--most 30 becalm/stats/paired.py'" tries one module.
MUTANTS ?=
ENGINE_MUTANTS ?= -f crates/becalm-core/src/load/machine.rs -f crates/becalm-core/src/load/table.rs \
  -f crates/becalm-settings/src/journal.rs -f crates/becalm-settings/src/restore.rs -f crates/becalm-agent/src/restore.rs
mutants: build
	$(BIN)/python tools/mutants.py $(MUTANTS)
	@command -v cargo-mutants >/dev/null || { echo "The engine is not mutated: cargo-mutants is missing. Install it: cargo install --locked cargo-mutants"; exit 1; }
	cargo mutants -p becalm-core -p becalm-settings -p becalm-agent $(ENGINE_MUTANTS)

# Every figure of the documents again, within two hours on a machine that does nothing else (as root).
BENCH ?=
bench: build
	@$(PYTHON) tools/programs.py install bench
	$(BIN)/python bench/all.py $(BENCH)

# The README's two commands on minimal machines, which have only Rust, Python, make and a C compiler (as root; half an hour
# each).
FRESH ?= debian-12 debian-13 ubuntu-24.04
fresh: debian-packages compilers
	$(PYTHON) tools/fresh.py $(FRESH)

# Try the packages of `make dist` on minimal machines that never had becalm (as root; a quarter of an hour, most of it to
# compile the sdist). A Fedora needs dnf and its mirrors; without them the reason is printed.
INSTALLED ?=
installed: build
	$(BIN)/python tools/installed.py $(INSTALLED)

# Random bytes, guided by coverage, a minute for all targets; `make fuzz FUZZ='--seconds 600 journal'`.
FUZZ ?= --seconds 60
fuzz: check-tools
	$(PYTHON) tools/fuzz.py $(FUZZ)

# The same in Python for imports, profiles and answers of agents: `make test` tries a few of each, this many, and those
# that atheris finds, guided by coverage. It has wheels for some versions of Python only; without it the reason is printed.
atheris: build
	-$(BIN)/python tools/requirements.py fuzz | $(BIN)/pip install -q --disable-pip-version-check -r /dev/stdin

fuzz-imports: atheris
	BECALM_SAMPLES=long $(BIN)/python -m pytest -q tests/property/fuzz
	$(BIN)/python tools/fuzz_readers.py --seconds 120

# An hour of both. Inputs that reach new code go to fuzz/corpus, and to fuzz/seeds by `python tools/fuzz.py --renew`.
fuzz-long: atheris
	$(PYTHON) tools/fuzz.py --seconds 3000
	$(BIN)/python tools/fuzz_readers.py --seconds 600

# Ten thousand kills of real settings and power cuts of a guest, overnight, as root. The next start goes on.
kills-long: build
	PYTHONPATH=python $(BIN)/python bench/kills.py --kills 10000
	PYTHONPATH=python $(BIN)/python bench/power_cuts.py --cuts 10000

# The timers of Armv8, for which there is no machine here.
check-arm: check-tools
	@if $(HAVE_ARM); then cargo clippy -q -p becalm-clock --all-targets --locked --target $(ARM) -- -D warnings; else \
	  $(call MISSING,$(NO_ARM)); fi

# An sdist that builds without a network, wheels for x86-64 and aarch64, Debian packages, a bill of materials and licences:
# dist/. Minutes; nothing is uploaded. Needs gcc-aarch64-linux-gnu, and lintian to have the Debian packages read.
dist: $(VENV)/.develop check-tools
	@$(HAVE_ARM) || { echo "Rust cannot compile for aarch64, which has a wheel: rustup target add $(ARM)" >&2; exit 1; }
	$(BIN)/python tools/packages.py

# becalm's dependencies for a machine without a network, as wheels in dist/wheelhouse: WHEELHOUSE='--python 3.12 --musl'.
WHEELHOUSE ?=
wheelhouse: $(VENV)/.develop
	$(BIN)/python tools/wheelhouse.py $(WHEELHOUSE)

# Check that a second build of the last commit, elsewhere, gives the bytes that dist/ has.
reproduce: $(VENV)/.develop
	$(BIN)/python tools/reproduce.py

# becalm-clock as it would be published: packed, compiled from the package alone, and its interface the one that is kept.
check-crate: check-tools
	cargo package -q -p becalm-clock --locked --allow-dirty
	$(BIN)/python tools/interface.py

lint: build check-arm check-crate
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# Stubs that mypy reads in place of the options themselves.
	$(BIN)/python tools/type_stubs.py --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_tree.py
	$(BIN)/python tools/check_tests.py
	$(BIN)/python tools/check_words.py
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@# With programs of BPF, where they were compiled.
	[ -z "$(WITH_BPF)" ] || $(WITH_BPF) cargo clippy -p becalm-agent --features bpf --all-targets --locked -- -D warnings
	cargo clippy -p becalm-clock --no-default-features --locked -- -D warnings
	cargo clippy -p becalm-clock --features std --all-targets --locked -- -D warnings
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
	rm -rf target fuzz/target build dist $(USER_VENV) $(VENV) $(AGENT) $(HELPER) $(SIMULATOR) $(TIMERS) $(TABLES) \
	  python/becalm/clock_sources python/*.egg-info
