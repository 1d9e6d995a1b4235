# `make help` lists everything. On a machine with Python 3.11 or newer and make, each of these installs what it needs first.

PYTHON ?= python3
BIN := .venv/bin
UV := .tools/bin/uv
NODE_PEERS := $(patsubst %/package-lock.json,%/node_modules/.installed,$(wildcard tests/wire/*/package-lock.json tests/browser/*/package-lock.json))
ASSETS := assets/build.py assets/package-lock.json
COMPILE := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	$(if $(UPGRADE),--upgrade)
unexport PYTHONDONTWRITEBYTECODE  # compiled once, each of the many processes that the tests start is there seconds sooner

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help journeys pictures texts demo install services format lint quick test trials check crash faults bench mutants fuzz hostile docs build lock clean

help: ## This list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/\1@\2/p' $(firstword $(MAKEFILE_LIST)) | while IFS=@ read -r name text; do \
		printf '  make %-10s %s\n' "$$name" "$$text"; done

demo: .venv/installed-runtime ## Install, then run the service with a ready account: prints its address, keys and a curl that works (ONCE=1: check and end; PORT=8081)
	@$(BIN)/heliograph demo $(if $(filter-out 0,$(ONCE)),--once) $(if $(PORT),--port $(PORT))

install: .venv/installed-dev ## Only install: uv in .tools, the locked dependencies and tools in .venv
	@echo "Installed in .venv; next: make demo, make test, or make help"

services: .venv/installed-dev ## Find what the tests need beside Python (PostgreSQL, Redis, Node, Kannel, HAProxy, libfaketime, iproute2, PHP, Java, Ruby, Chromium, curl, patroni, etcd, PgBouncer, promtool, systemd); as root, install what is missing
	@$(BIN)/python -m tests.support.services

format: .venv/installed-dev ## Format all Python files with ruff, at 100 columns
	@$(BIN)/ruff format .

lint: .venv/installed-dev ## ruff with its format, mypy --strict, and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --quiet --check . || { echo "Some files are not formatted. make format formats them."; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

test: .venv/installed-dev services $(NODE_PEERS) ## Install and start what the tests need, and run those of each change (ARGS="tests/unit -x": some, whole)
	@$(BIN)/$(if $(ARGS),pytest $(ARGS),python -m tests)

trials: .venv/installed-dev services $(NODE_PEERS) ## Run all tests that make test leaves out: long ones, and those of the other database
	@$(BIN)/python -m tests trials

quick: .venv/installed-dev ## Run what the working tree's changes can break, on SQLite, in a minute
	@$(BIN)/python -m tests.quick

check: lint test ## Exactly what CI runs: lint and test

crash: .venv/installed-dev services ## Kill a server under load 20 times on each database (ROUNDS=200: more), and say what became of every message; and an OTP among a million
	@HELIOGRAPH_TEST_CRASH_ROUNDS=$(or $(ROUNDS),20) HELIOGRAPH_TEST_WAITING=1000000 $(BIN)/pytest -s tests/crash/test_kill_serve.py tests/crash/test_otp_ahead.py

faults: .venv/installed-dev services ## Do every fault of the matrix to real processes, in its long form, and print what was lost, repeated, and how long it took
	@$(BIN)/python -m tests.faults $(ARGS)

bench: .venv/installed-dev ## Measure (ARGS: see python -m bench --help)
	@$(BIN)/python -m bench $(ARGS)

mutants: .venv/installed-dev ## Measure how many small faults in ten source files their tests notice (ARGS="settle --mutants 40": some; --help)
	@$(BIN)/python -m tools.mutants $(ARGS)

fuzz: .venv/installed-dev ## Fuzz all that reads PDUs and receipts, for ten minutes (ARGS: libFuzzer's options, and folders of inputs)
	@$(BIN)/python -m tests.fuzz $(ARGS)

hostile: .venv/installed-dev ## A million hostile PDUs for the SMPP client and the SMSC: memory must stay flat (make test has 50,000)
	@HELIOGRAPH_TEST_HOSTILE_PDUS=1000000 $(BIN)/pytest tests/wire/test_hostile.py

docs: .venv/installed-dev ## Make docs/states.md and docs/answers.md again, from the code (the other pages are written by hand)
	@$(BIN)/python -m tools.states

journeys: .venv/installed-dev services $(NODE_PEERS) ## Do the journeys of the portal in a browser at both widths on both databases (make test does each once, make trials on the other database)
	@$(BIN)/pytest -n 2 tests/browser
	@HELIOGRAPH_TEST_JOURNEYS=swapped $(BIN)/pytest -n 2 tests/browser

texts: .venv/installed-dev ## Find all texts of the portal's pages, and put new ones into the catalogs of its languages, to be translated
	@mkdir -p build
	@$(BIN)/pybabel -q extract -F assets/texts.cfg -k marked --sort-output --width=100 --add-location=file -o build/portal.pot src/heliograph/portal
	@$(BIN)/pybabel -q update -D portal -d src/heliograph/portal/translations -i build/portal.pot --width=100 --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date

pictures: .venv/installed-dev services $(NODE_PEERS) ## Take the pictures in docs/pictures again, from the browser tests
	@$(BIN)/python -m tools.pictures

build: .tools/installed ## Make a wheel and an sdist in dist/, for machines without a checkout
	@tools/install.sh build dist
	@ls dist/*

lock: .tools/installed ## Pin the dependencies of pyproject.toml again, with hashes (UPGRADE=1: at their newest versions)
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock
	$(COMPILE) --group uv -o tools/uv.lock
	$(COMPILE) --group build -o tools/build.lock

clean: ## Remove everything that make made; never your data
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist assets/built_of src/heliograph/portal/static/built src/heliograph/wallet/fonts $(wildcard tests/wire/*/node_modules tests/browser/*/node_modules)
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# An installation that is newer than what it was made from is not made again. tools/install.sh says so by a file, under its lock.
.tools/installed: tools/uv.lock tools/install.sh
	@tools/install.sh uv $(PYTHON)

.venv/installed-runtime: .tools/installed tools/build.lock requirements.lock pyproject.toml $(ASSETS)
	@tools/install.sh runtime

.venv/installed-dev: .tools/installed tools/build.lock requirements-dev.lock pyproject.toml $(ASSETS)
	@tools/install.sh dev

tests/%/node_modules/.installed: tests/%/package-lock.json
	cd tests/$* && npm ci --silent --no-audit --no-fund
	@touch $@
