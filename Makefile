# `make` lists the targets. Set-up is part of each of them: a fresh clone needs no other command.

VENV ?= .venv
# Which Python to make VENV with; empty: the first of python3, python3.13, ... python3.10 that suits.
PYTHON ?=
# Of the distributed topology, which needs Python 3.10 on Linux x86_64 and older packages than the
# rest. Empty: `make test` leaves its tests out.
DISTRIBUTED_VENV ?= .venv-distributed
DISTRIBUTED_PYTHON ?=
WORKERS ?= 2
PYTEST_ARGS ?=
QUICKSTART = -m mava.cli.quickstart
SETUP_DISTRIBUTED = sh requirements/install.sh "$(DISTRIBUTED_VENV)" "$(DISTRIBUTED_PYTHON)" distributed

# Tests share the cores by process, so each process keeps to one thread, and to the CPU even where
# there is an accelerator: two processes would each claim its whole memory.
TEST_ENV = JAX_PLATFORMS="$${JAX_PLATFORMS:-cpu}" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	XLA_FLAGS="--xla_cpu_multi_thread_eigen=false $$XLA_FLAGS"
PYTEST = $(TEST_ENV) $(VENV)/bin/python -m pytest -n $(WORKERS) --dist worksteal
# These tests start processes that use all cores: one test at a time. One that hangs is ended.
TESTS_DISTRIBUTED = tests/topologies/distributed
PYTEST_DISTRIBUTED = $(TEST_ENV) timeout 1800 $(DISTRIBUTED_VENV)/bin/python -m pytest -n 0 \
	-o testpaths=$(TESTS_DISTRIBUTED)

.DEFAULT_GOAL := help
.PHONY: help setup setup-distributed quickstart quickstart-distributed test test-fast test-distributed \
	lint format benchmark benchmark-systems benchmark-compiled benchmark-distributed results requirements clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-22s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  VENV=$(VENV) and PYTHON=... (3.10 to 3.13) choose where and with what"

setup: ## fill .venv; the other targets do it first (a minute or more, then nothing)
	@sh requirements/install.sh "$(VENV)" "$(PYTHON)"

setup-distributed: ## fill .venv-distributed (three minutes, 2.4 GB; Python 3.10 on Linux x86_64)
	@$(SETUP_DISTRIBUTED)

quickstart: setup ## train a first system and plot its learning (about three minutes)
	@$(VENV)/bin/python $(QUICKSTART)

quickstart-distributed: setup-distributed ## the quickstart by the distributed topology
	@$(DISTRIBUTED_VENV)/bin/python $(QUICKSTART) --topology=distributed

# Status 3 of the set-up: no Python that suits. Status 5 of pytest: PYTEST_ARGS chose none of these.
test: setup ## run all tests (half an hour on two cores, and eight minutes of the distributed ones)
	$(PYTEST) $(PYTEST_ARGS)
ifneq ($(DISTRIBUTED_VENV),)
	@$(SETUP_DISTRIBUTED); case "$$? $$CI" in \
		"0 "*) $(PYTEST_DISTRIBUTED) $(PYTEST_ARGS) || [ "$$? $(if $(PYTEST_ARGS),some)" = "5 some" ] ;; \
		"3 true") echo "test: could not run $(TESTS_DISTRIBUTED), and CI=true" >&2; exit 1 ;; \
		"3 "*) echo "test: could not run $(TESTS_DISTRIBUTED); all others passed" ;; \
		*) exit 1 ;; \
	esac
endif

test-fast: setup ## run the tests that are not marked slow (under 3 minutes)
	$(PYTEST) -m "not slow" $(PYTEST_ARGS)

test-distributed: setup-distributed ## run the tests of the distributed topology alone
	$(PYTEST_DISTRIBUTED) $(PYTEST_ARGS)

lint: setup ## check style (ruff) and types (mypy)
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy

format: setup ## put imports and layout in order
	$(VENV)/bin/ruff check --select I --fix
	$(VENV)/bin/ruff format

benchmark: setup ## environment steps per second, over the bare environment's
	@$(VENV)/bin/python benchmarks/environment_steps.py
	@$(VENV)/bin/python benchmarks/start_up.py

benchmark-systems: setup ## training speed of every system, over the bare environment's
	@$(VENV)/bin/python benchmarks/system_steps.py

benchmark-compiled: setup ## training speed of the compiled topology, on JAX environments
	@$(VENV)/bin/python benchmarks/compiled.py

benchmark-distributed: setup-distributed ## scaling over executors, overhead and samples per insert
	@$(DISTRIBUTED_VENV)/bin/python benchmarks/distributed.py

results: setup ## the learning tables of docs/results.md (hours)
	@$(VENV)/bin/python benchmarks/learning.py

requirements: setup ## compile requirements/ from pyproject.toml (UV_ARGS=--upgrade for newer versions)
	@requirements/compile.sh $(abspath $(VENV))/bin/uv $(UV_ARGS)

clean: ## remove what the targets made, save for runs/
	rm -rf $(foreach venv,$(VENV) $(DISTRIBUTED_VENV),$(venv) $(venv).old) build dist .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
