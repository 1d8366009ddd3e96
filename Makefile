# The tasks of a contributor, each in one command. You need only Python 3.11, make and git.
PYTHON ?= python3
TIME ?= 120
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
CLIENTS := $(VENV)/clients
FUZZ := $(VENV)/fuzz
PAGES := docs/*.md docs/*/*.md
export PEERS ?= $(CURDIR)/$(VENV)/peers

.PHONY: test test-tables test-faults fuzz torture test-clients test-peers lint types unit wheel fix accept demo bench bench-formats bench-mcp bench-repo bench-search bench-sync bench-transactions bench-undo docs docs-site clean

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "memglot needs Python 3.11 or later")'
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --group dev
	touch $(STAMP)

test: lint types unit wheel  ## everything that CI runs

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/codespell
	$(BIN)/cog --check -r README.md $(PAGES)

types: $(STAMP)
	$(BIN)/mypy

unit: $(STAMP)
	$(BIN)/pytest -n 2 --ignore=tests/faults --ignore=tests/fuzz

wheel: $(STAMP)  ## test the built wheel in a new environment
	$(BIN)/python scripts/check_wheel.py

test-faults: $(FUZZ)  ## kill commands, break disks and feed hostile files; needs Linux and gcc
	$(BIN)/pytest -n 2 tests/faults tests/fuzz

fuzz: $(FUZZ)  ## search for inputs that break a reader, a parser or a protocol; make fuzz TIME=600
	$(BIN)/python tests/fuzz/run.py --time $(TIME)

$(FUZZ): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group fuzz
	touch $@

torture: TIME = 1200
torture: $(STAMP)  ## repeat the tests with many more faults, other ones each time, for TIME seconds
	$(BIN)/python tests/faults/torture.py $(TIME)

test-tables: $(STAMP)  ## test `to_pandas` and `to_arrow` with the real packages
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group tables
	$(BIN)/pytest tests/test_notebooks.py tests/test_documented_examples.py

test-clients: $(CLIENTS)/installed  ## call every MCP tool with npm's MCP Inspector; needs Node.js with npm
	$(BIN)/pytest -n 2 tests/inspector/drive.py

$(CLIENTS)/installed: tests/inspector/package-lock.json tests/inspector/package.json tests/inspector/.npmrc | $(STAMP)
	@command -v npm >/dev/null || { echo "make test-clients needs Node.js with npm" >&2; exit 1; }
	mkdir -p $(CLIENTS)
	cp $^ $(CLIENTS)
	cd $(CLIENTS) && npm ci --loglevel=error
	touch $@

test-peers: $(PEERS)/installed  ## exchange memories with the real programs of other tools; needs Node.js with npm
	$(BIN)/pytest -n 2 tests/peers/drive_agentos.py tests/peers/drive_mcp_memory.py tests/peers/drive_mcp_graph.py

$(PEERS)/installed: $(addprefix tests/peers/,install.sh package-lock.json package.json .npmrc requirements.txt mcp-memory-service.txt) | $(STAMP)
	bash tests/peers/install.sh $(PEERS)
	touch $@

fix: $(STAMP)  ## format the code and apply automatic fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

accept: $(STAMP)  ## rewrite goldens and CLI cases with the current output; review the diff
	MEMGLOT_ACCEPT=1 $(BIN)/pytest -n 2 tests/formats/test_goldens.py tests/cli/test_cli_cases.py

docs: $(STAMP)  ## regenerate the generated parts of the docs
	$(BIN)/cog -r README.md $(PAGES)
	$(BIN)/python scripts/man.py
	$(BIN)/python scripts/changelog.py

docs-site: $(STAMP)  ## build the documentation as a site, in build/site
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir build/site

demo: $(VENV)/demo
	PATH="$(CURDIR)/$(BIN):$$PATH" bash examples/demo.sh

$(VENV)/demo: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $(VENV)/demo

bench: $(STAMP)  ## measure import and export against bare scripts; see docs/performance.md
	$(BIN)/python bench/core.py

bench-formats: $(STAMP)  ## measure the formats of other tools
	$(BIN)/python bench/formats.py

bench-mcp: $(STAMP)  ## measure the MCP server
	$(BIN)/python bench/mcp_server.py

bench-repo: $(STAMP)  ## measure project memory
	$(BIN)/python bench/repo.py

bench-search: $(STAMP)  ## measure the quality and speed of search
	$(BIN)/python bench/search.py

bench-sync: $(STAMP)  ## measure memories.json
	$(BIN)/python bench/sync.py

bench-transactions: $(STAMP)  ## measure how long others wait while large stores are changed
	$(BIN)/python bench/transactions.py

bench-undo: $(STAMP)  ## measure the undo of large imports, moves and deletions
	$(BIN)/python bench/undo.py

clean:
	rm -rf $(VENV) demo dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis bench/data
