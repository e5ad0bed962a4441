# Every target sets up what it needs: a virtual environment from the lock file, and Spark's jars at first use.

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# Two processes, each with a Spark of its own, share the modules.
PYTEST := $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help setup jars demo test check format bench lock clean

help:
	@echo "make demo    a guided tour on a small warehouse"
	@echo "make test    all tests (starts Spark, a small cluster and PostgreSQL)"
	@echo "make check   lint, types and the short tests that need no Spark; about a minute"
	@echo "make format  format the code and sort the imports"
	@echo "make bench   the benchmarks"
	@echo "make lock    resolve the dependencies anew into requirements.lock"

setup: $(READY)

$(READY): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "rollview needs Python 3.11 or newer")'
	@echo "Setting up .venv (about a minute and a half the first time)" >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

jars: $(READY)
	@$(BIN)/python -m rollview.lake.jars

demo: $(READY)
	@$(BIN)/rollview demo

test: $(READY)
	@$(PYTEST)

check: $(READY)
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy
	@$(PYTEST) -m "not spark and not long"

format: $(READY)
	@$(BIN)/ruff check --fix --quiet
	@$(BIN)/ruff format --quiet

bench: $(READY)
	@$(BIN)/python -m bench

lock:
	@test -x build/lock/bin/uv || ($(PYTHON) -m venv build/lock && build/lock/bin/pip install --quiet uv)
	@build/lock/bin/uv pip compile --quiet --universal --python-version 3.11 --upgrade --generate-hashes \
		--no-header --no-emit-index-url --no-emit-find-links --extra dev --extra bench \
		pyproject.toml --output-file requirements.lock

clean:
	@rm -rf .venv build
