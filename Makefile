# make demo    what mcp-jail is for, in seconds; needs no Node.js
# make test    everything the tests need, then the tests; works on a fresh machine
# make clients whole MCP clients and the conformance suites, for more tests to run; 1.3 GB
# make check   format, lint, layers, types, architecture: fast, needs no jail
# make format  put the code into shape
# make clean   remove what was made here

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: test check format format-check lint imports types architecture venv needs clients demo clean

test: venv needs
	$(BIN)/pytest -n $(WORKERS)

demo:
	scripts/demo $(PYTHON) build/demo-venv

check: format-check lint imports types architecture

venv: $(VENV)/.complete

$(VENV)/.complete: requirements/dev.txt scripts/make-venv
	scripts/make-venv $(PYTHON) $(VENV)

needs:
	scripts/need-bubblewrap
	scripts/make-node-tree
	scripts/make-python-servers $(PYTHON)

clients:
	scripts/make-node-tree tests/node/applications
	scripts/make-node-tree tests/node/conformance

format: venv
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

format-check: venv
	$(BIN)/ruff format --check

lint: venv
	$(BIN)/ruff check

imports: venv
	$(BIN)/lint-imports

types: venv
	$(BIN)/mypy

architecture: venv
	$(BIN)/pytest -p no:xdist tests/test_architecture.py

clean:
	rm -rf $(VENV) .servers tests/node/node_modules tests/node/applications/node_modules \
		tests/node/conformance/node_modules build dist \
		.mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
