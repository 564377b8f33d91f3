# `make run` and `make test` need nothing but Python >= 3.11 with venv, and a way to PyPI.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A file of tests is done by one process: what its tests share is then computed once.
PARALLEL := --numprocesses auto --dist loadfile
PIP_INSTALL := $(BIN)/python -m pip install --quiet --progress-bar off --disable-pip-version-check

CREATED := $(VENV)/created.stamp
FOR_RUN := $(VENV)/installed-for-run.stamp
FOR_TESTS := $(VENV)/installed-for-tests.stamp

.PHONY: help run verify test test-slow check bench clean
.DELETE_ON_ERROR:

help:
	@echo 'make run        install, check the derivation, solve the paper setting, draw the figure'
	@echo 'make verify     train layers and judge the theory by them; the report is in results/verify'
	@echo 'make test       all tests but the slow ones'
	@echo 'make test-slow  the slow tests'
	@echo 'make check      generated files up to date, ruff, mypy'
	@echo 'make bench      speed measurements'
	@echo 'make clean      remove the environment and all caches'

$(CREATED):
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(FOR_RUN): $(CREATED) pyproject.toml constraints.txt
	$(PIP_INSTALL) -c constraints.txt -e '.[plot]'
	@touch $@

# torch by itself comes first: asked for by its exact version it may be taken from a local wheel,
# while the range that the package names would fetch the newest build.
$(FOR_TESTS): $(CREATED) pyproject.toml constraints.txt
	$(PIP_INSTALL) $$(grep '^torch==' constraints.txt)
	$(PIP_INSTALL) -c constraints.txt -e '.[plot,sweep,cluster,verify,dev]'
	@touch $@ $(FOR_RUN)

run: $(FOR_RUN)
	$(BIN)/symattn report --out results --verbose

verify: $(FOR_TESTS)
	$(BIN)/symattn verify --out results/verify --verbose

test: $(FOR_TESTS)
	$(BIN)/python -m pytest -m 'not slow' $(PARALLEL)

test-slow: $(FOR_TESTS)
	$(BIN)/python -m pytest -m slow $(PARALLEL)

check: $(FOR_TESTS)
	$(BIN)/symattn derive --check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(FOR_TESTS)
	$(BIN)/python -m pytest benchmarks --benchmark-only

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
