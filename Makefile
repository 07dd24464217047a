.DEFAULT_GOAL := help
.PHONY: help install run test quick lint types layers format bench docs compile clean

# Start-up is only quick with cached bytecode; some shells switch the cache off.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
STAMP := $(VENV)/.installed

help:     ## show this list
	@grep -hE '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

install: $(STAMP)  ## create .venv and install the package with its tools
$(STAMP): pyproject.toml constraints.txt setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed; $(PYTHON) is %d.%d. Name another one: make PYTHON=python3.11 install" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[client,dev]'
	@touch $@

run: $(STAMP)  ## start a server on port 7711 (ARGS="--port 7712" for options)
	$(BIN)/disque-server $(ARGS)

test: $(STAMP)  ## every test, including real server processes
	$(BIN)/python -m pytest -n 2 $(ARGS)

quick: $(STAMP)  ## the fast tests: pure layers, no processes
	$(BIN)/python -m pytest -m "not slow and not process" $(ARGS)

lint: $(STAMP)  ## formatting, style, spelling
	$(BIN)/ruff format --check . && $(BIN)/ruff check . && $(BIN)/codespell

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy

layers: $(STAMP)  ## allowed import directions
	$(BIN)/lint-imports

format: $(STAMP)  ## rewrite the code the way the house likes it
	$(BIN)/ruff format . && $(BIN)/ruff check --fix .

bench: $(STAMP)  ## measure against redis-server, as ratios in one run
	$(BIN)/python scripts/bench.py $(ARGS)

docs: $(STAMP)  ## regenerate docs/commands.md from the command table
	$(BIN)/python scripts/command_reference.py

compile: $(STAMP)  ## build the pure layers with mypyc, in place (two minutes)
	@echo "This takes about two minutes, and needs a C compiler and Python's headers."
	@find disque -name '*.so' -delete
	DISQUE_COMPILE=1 $(BIN)/python setup.py --quiet build_ext --inplace --force
	@echo "Done. A server started now says core_build:compiled in INFO stats; 'make test' tests"
	@echo "this form. After a change of the source compile again, or go back with 'make clean'."

clean:    ## remove build products (not .venv)
	rm -rf build *.egg-info *.so __pycache__ .*_cache .hypothesis
	find disque tests scripts \( -name '*.so' -o -name __pycache__ \) -prune -exec rm -rf {} +
