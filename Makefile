# make demo    train on the bundled corpus and show what was learned
# make test    everything that must hold before a change is done; .ci/run calls exactly this

VENV := .venv
BIN := $(VENV)/bin
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# The first Python on this machine that is new enough; choose another with: make PYTHON=python3.13
PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null && echo $$python && break; done)
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq

.PHONY: help setup demo check test unit wheel golden bench docs dist clean

help: ## what there is
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

setup: $(VENV)/developing ## the virtual environment with all that development needs

$(VENV)/running: pyproject.toml
	@test -n "$(PYTHON)" || { echo "Headway needs Python 3.11 or newer; give it with: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "installing headway into $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --editable .
	@touch $@

$(VENV)/developing: $(VENV)/running
	@echo "installing the tools of development into $(VENV)"
	@$(PIP) install --editable '.[dev]'
	@touch $@

demo: $(VENV)/running ## train on the bundled corpus and show what was learned
	@find src/headway -path '*/__pycache__/kernels-*' -name '*.nbi' | grep -q . || \
		echo "the first run compiles the kernels, which takes up to a minute; later runs start in seconds"
	@$(BIN)/headway train examples/demo.toml --new
	@echo "  (headway is $(BIN)/headway; put it on your path with: source $(BIN)/activate)"

check: setup ## style, types, direction of imports, sizes
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python scripts/size_gate.py

test: check docs wheel unit ## all of it: check, docs, wheel, tests with coverage

unit: setup ## the test suite with branch coverage, workers included
	@rm -rf build/coverage && mkdir -p build/coverage
	$(BIN)/coverage run -m pytest
	@# Processes that tests kill leave torn files behind, which hold nothing; what is said of them is kept there.
	@$(BIN)/coverage combine --quiet 2> build/coverage/torn.log || { cat build/coverage/torn.log; exit 1; }
	@rm -f build/coverage/data.*
	@$(BIN)/coverage report

wheel: setup ## build the wheel and try it where there is no source
	@rm -rf build/wheel && mkdir -p build/wheel/elsewhere
	@$(BIN)/python -m build --outdir build/wheel . > build/wheel/log 2>&1 || { cat build/wheel/log; exit 1; }
	@$(BIN)/python -m venv build/wheel/venv
	@build/wheel/venv/bin/python -m pip --disable-pip-version-check -qq install build/wheel/*.whl
	cd build/wheel/elsewhere && ../venv/bin/python ../../../scripts/try_wheel.py

golden: setup ## KATO's recorded answers, reproduced exactly
	$(BIN)/pytest tests/golden

bench: setup ## the benchmarks of benchmarks/macro
	@test -d benchmarks/corpus || { echo "make the corpus first (about 150 MB of Debian documentation):"; \
		echo "  $(BIN)/python benchmarks/corpus_debian.py"; exit 1; }
	$(BIN)/python -m benchmarks.macro

docs: setup ## every command, plan, link and setting in the documentation is real
	$(BIN)/python scripts/check_docs.py

dist: setup ## the archives to publish, in dist/
	$(BIN)/python -m build

clean: ## forget what was built, but no run and no dataset
	rm -rf build dist $(VENV) .pytest_cache .ruff_cache .hypothesis
