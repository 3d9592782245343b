# Every target sets up what it needs, once: a fresh clone needs Python >= 3.11 and make.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
DOCS   := .cache/docs/.ready
SERVERS := .cache/servers/.ready

.DEFAULT_GOAL := help
ROUNDS ?= 10
MINUTES ?= 10
STORE ?= embedded
SIMILARITY ?= 0.9
SECONDS ?= 60

# Processes of a crawl start faster with the bytecode of the last one.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test chaos soak fuzz check format bench bench-growth bench-peers bench-redis \
	eval-duplicates requirements docs clean

help:  ## say what there is
	@sed -n 's/^\([a-z-]*\):.*## /  make \1	/p' $(MAKEFILE_LIST) | expand -t 24

setup: $(READY)  ## make the virtual environment with everything in it

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable . --group dev
	@touch $(READY)

# Real HTML for the tests: a manual of over 1,000 pages out of a Debian package.
$(DOCS): tools/fetch_docs.py | $(READY)
	$(BIN)/python tools/fetch_docs.py

# Servers for the store that several machines share: what is not installed is fetched.
$(SERVERS): tools/fetch_servers.py | $(READY)
	$(BIN)/python tools/fetch_servers.py

demo: $(READY)  ## crawl a small site that Gossamer serves itself
	$(BIN)/gossamer demo

# Most tests start processes and wait for them, five at a time here. One that fails in that crowd is
# named, and run again alone: what fails there too is red.
test: $(READY) $(DOCS) $(SERVERS)  ## run the whole test suite
	$(BIN)/python -m pytest --numprocesses 5 --dist worksteal --requirements check || \
		{ test $$? -eq 1 && $(BIN)/python -m pytest --last-failed --last-failed-no-failures none --maxfail 1; }

# Each round has another seed, and other examples are drawn; `make test` has the first one.
chaos: $(READY) $(DOCS) $(SERVERS)  ## kill and draw at random for long: ROUNDS=10
	$(BIN)/python -m pytest --numprocesses 4 --dist worksteal --chaos-rounds $(ROUNDS) \
		tests/chaos tests/cluster/chaos tests/contract tests/crawl/test_depth.py

soak: $(READY) $(SERVERS)  ## crawl 2,000 hosts with every fault and watch it: MINUTES=10 STORE=redis SIMILARITY=off
	PYTHONPATH=tools $(BIN)/python -m benchmarks.soak --minutes $(MINUTES) --store $(STORE) \
		--similarity $(SIMILARITY)

# atheris follows the branches of the code; where there is none for this Python, hypothesis is enough.
fuzz: $(READY)  ## random input for all that reads what the web sends: SECONDS=60 for each
	-$(BIN)/python -m pip install --quiet --group fuzz
	$(BIN)/python -m benchmarks.fuzz --seconds $(SECONDS)

check: $(READY)  ## lint, formatting, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## put the code into its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) $(DOCS)  ## measure, beside a peer in the same run; BASELINE=folder of another clone
	$(BIN)/python benchmarks/bench_page.py
	$(BIN)/python benchmarks/bench_similarity.py
	PYTHONPATH=tools $(BIN)/python -m benchmarks.peers --sites "small pages" --crawlers Gossamer \
		"Gossamer, near duplicates too" "Scrapy, LinkExtractor"
	PYTHONPATH=tools $(BIN)/python -m benchmarks.outputs
	PYTHONPATH=tools $(BIN)/python -m benchmarks.bench_processes $(BASELINE)

bench-redis: $(READY) $(DOCS) $(SERVERS)  ## measure what a shared crawl costs, with a Redis of its own
	PYTHONPATH=tools $(BIN)/python -m benchmarks.bench_redis
	PYTHONPATH=tools $(BIN)/python -m benchmarks.bench_shared

TURNS ?= 5
bench-peers: $(READY) $(DOCS)  ## crawl the same sites as other crawlers, in turn: TURNS=5
	PYTHONPATH=tools $(BIN)/python -m benchmarks.peers --turns $(TURNS) --store

bench-growth: $(READY) $(DOCS)  ## measure the store as it grows, and the scheduler with 10,000 hosts
	PYTHONPATH=tools $(BIN)/python -m benchmarks.growth --store
	PYTHONPATH=tools $(BIN)/python -m benchmarks.scheduler --store

eval-duplicates: $(READY) $(DOCS)  ## measure how well near duplicates are recognised
	$(BIN)/python tools/fetch_docs.py --manuals
	$(BIN)/python -m benchmarks.eval.duplicates

requirements: $(READY)  ## print the table of requirements and write docs/requirements.md
	$(BIN)/python -m pytest --collect-only --quiet --quiet --requirements write

docs: $(READY)  ## write the pages that follow from the code
	$(BIN)/python tools/write_configuration.py
	$(BIN)/python tools/write_reference.py

clean:  ## remove everything that was set up
	rm -rf $(VENV) .cache build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
