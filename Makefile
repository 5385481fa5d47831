# Targets with a description are the public ones; `make help` lists them in groups.
PYTHON ?= python
CORES = $(shell getconf _NPROCESSORS_ONLN)
# One worker more than cores: tests also wait, for servers, clusters and processes that they start.
PARALLEL = --numprocesses $(shell expr $(CORES) + 1) --dist worksteal
# Tests marked `alone` run one after another, and only their files are imported for them.
ALONE = $(shell grep --recursive --files-with-matches --include '*.py' 'pytest.mark.alone' tests)
SCRIPTS = $$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("scripts"))')
SCHEMA = "$(SCRIPTS)/check-jsonschema" --quiet --builtin-schema
STAGES = $(PYTHON) tools/stages.py
# Tests of `make ci`, without those that run one after another.
SELECTED = not nightly and not alone
SEED = 1
COUNT = 300
MINUTES = 120
MILLIONS = 200

.PHONY: help install format lint layers workflows types kernels test docs site wheel ci nightly test-nightly random \
	versions dist mutants measure scale bench bench-peers pictures release-check

help:
	@awk -F ' *## ' '/^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*##/ {sub(/:.*/, "", $$1); printf "  %-14s%s\n", $$1, $$2}' Makefile

##@ Everyday

# uv takes seconds where pip takes more than a minute, but does not read the settings of pip. Where packages are
# available only through these settings, pip installs.
install:  ## paribus, editable, with all development tools
	$(PYTHON) -m pip install --quiet uv
	$(PYTHON) -m uv pip install --quiet --python $(PYTHON) --editable '.[plot,plotly]' --group dev || \
		{ $(PYTHON) -m pip install --quiet --upgrade pip && \
		$(PYTHON) -m pip install --quiet --editable '.[plot,plotly]' --group dev; }

format:  ## format the code, and fix lint errors that can be fixed automatically
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

lint: layers workflows  ## style, formatting, spelling, layers of imports, workflow files
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .
	"$(SCRIPTS)/codespell" $$(git ls-files '*.py' '*.md' '*.toml' '*.yml' '*.cff' Makefile)

layers:
	$(PYTHON) -c 'from importlinter.cli import lint_imports_command; lint_imports_command(["--no-cache"])'

workflows:
	"$(SCRIPTS)/zizmor" --offline --quiet .github action.yml
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.github-actions action.yml
	$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA) vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(SCHEMA) vendor.citation-file-format CITATION.cff

types:  ## mypy, strict
	$(PYTHON) -m mypy

# Kernels are compiled once; otherwise, parallel processes of later stages compile the same ones.
kernels:
	$(PYTHON) -m paribus compile > /dev/null

test: kernels  ## the tests of `make ci`: all that are not marked nightly
	$(PYTHON) -m pytest tests src -m '$(SELECTED)' $(PARALLEL)
	$(PYTHON) -m pytest $(ALONE) -m 'alone and not nightly'

docs: kernels  ## the code blocks of README, ARCHITECTURE, CONTRIBUTING and docs
	$(PYTHON) -m pytest README.md ARCHITECTURE.md CONTRIBUTING.md docs --ignore docs/spark.md --numprocesses logical --dist loadfile

site: kernels  ## the documentation in build/site, with every example run; a warning is an error
	$(PYTHON) -m sphinx --quiet --fail-on-warning --keep-going --builder html docs build/site
	PARIBUS_SITE=build/site $(PYTHON) -m pytest tests/site/test_built_site.py -m 'not nightly'

# The part of `make dist` that `make ci` runs: wheel and sdist, inspected, and the wheel in one clean environment.
wheel:
	$(PYTHON) tools/distribution.py --without-extras

ci:  ## all that a change must pass, with the time of each stage
	$(STAGES) kernels lint,types,wheel,site,docs test

##@ Nightly

nightly:  ## everything: `make ci`, then the targets of this group except bench and bench-peers; several hours
	$(STAGES) ci test-nightly random versions dist measure scale mutants

test-nightly: kernels  ## the tests marked nightly: simulations, clusters, browsers over every page, measured memory
	PARIBUS_SITE=build/site $(PYTHON) -m pytest tests src -m 'nightly and not alone' $(PARALLEL)
	$(PYTHON) -m pytest $(ALONE) -m 'nightly and alone'
	$(PYTHON) -m pytest docs/spark.md

random:  ## random ensembles, pipelines and models against loops; damaged files; about two hours
	$(PYTHON) -m pytest tests/kernels/test_kernels.py --hypothesis-profile=laws $(PARALLEL)
	$(PYTHON) -m pytest tests/models/test_random_pipelines.py --hypothesis-profile=pipelines -s
	$(PYTHON) tests/support/differential.py --minutes $(MINUTES) --seed $(SEED)
	$(PYTHON) tests/support/fuzz.py

versions:  ## the tests of `make ci` with the oldest versions of all dependencies, and on every other Python
	rm -rf .venv-floors && $(PYTHON) -m venv .venv-floors
	.venv-floors/bin/python -m pip install --quiet --upgrade pip
	.venv-floors/bin/python -m pip install --quiet --editable '.[plot,plotly]' --group test --constraint tests/support/floors.txt
	# old libraries warn, so warnings are not errors here
	.venv-floors/bin/python -m pytest tests src -m '$(SELECTED)' -W default $(PARALLEL)
	$(PYTHON) tools/pythons.py

dist:  ## wheel and sdist, used in clean environments: each extra, without numba, every Python of this machine
	$(PYTHON) tools/distribution.py

mutants:  ## whether the tests of `make ci` detect COUNT random faults of SEED, 85 % or more; at most MINUTES
	$(PYTHON) tests/support/mutants.py --select '$(SELECTED)' --seed $(SEED) --count $(COUNT) --minutes $(MINUTES)

measure:  ## cost in predicts, memory, import time, first calls
	$(PYTHON) tests/support/timings.py

scale:  ## fifty million rows streamed and on clusters; cost by rows, files and tasks; an hour, 10 GB, MILLIONS=200
	$(PYTHON) tests/support/scale.py
	$(PYTHON) tests/support/scale_engines.py $(MILLIONS)

bench:  ## kernels that became slower since BASE, a commit; about ten minutes
	$(PYTHON) benchmarks/compare.py $(BASE)

bench-peers:  ## the same work with paribus and its peers, written to docs/benchmarks.md; about forty minutes
	$(PYTHON) benchmarks/peers.py

##@ Release

pictures:  ## pictures and tables of the documentation, drawn again; every panel by every renderer in build/gallery
	$(PYTHON) docs/pictures/draw.py
	$(PYTHON) docs/tables/exact.py
	$(PYTHON) tests/support/gallery.py build/gallery

release-check:  ## whether a tag can be made: versions, tree, `make ci`, `make dist`
	$(PYTHON) tools/release.py check
