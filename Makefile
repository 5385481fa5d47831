# The words of CI. PYTHON names the environment's interpreter.
PYTHON ?= python
CORES = $(shell getconf _NPROCESSORS_ONLN)
# Tests also wait, for servers, clusters and processes of their own: a worker for each core left a quarter unused.
PARALLEL = --numprocesses $(shell expr $(CORES) + 1) --dist worksteal
# Only these files are imported for the tests that bear nothing beside them.
ALONE = $(shell grep --recursive --files-with-matches --include '*.py' 'pytest.mark.alone' tests)

.PHONY: help install lint types layers quick test slow soak docs gallery kernels pages ci format timings bench site scale engines laws pipelines fuzz mutants differential floors pictures dist workflows pythons release-check beside tests tables bench-peers

PACKAGES = --editable '.[plot,plotly]' --group dev

help:  ## all words that have a line of explanation, this one first
	@awk -F ':.*##' '/^[a-z-]+:.*##/ {printf "%-14s%s\n", $$1, $$2}' Makefile

# uv takes seconds where pip takes more than a minute, but reads no settings of pip: where only these lead to
# packages, pip installs.
install:  ## everything a developer needs
	$(PYTHON) -m pip install --quiet uv
	$(PYTHON) -m uv pip install --quiet --python $(PYTHON) $(PACKAGES) || \
		{ $(PYTHON) -m pip install --quiet --upgrade pip && $(PYTHON) -m pip install --quiet $(PACKAGES); }

lint:  ## style, and formatting that differs
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

types:  ## mypy, strict
	$(PYTHON) -m mypy

layers:  ## the diagram in ARCHITECTURE.md, held to the code
	$(PYTHON) -c 'from importlinter.cli import lint_imports_command; lint_imports_command(["--no-cache"])'

# Unit tests of each room, chosen by what they were measured to take.
QUICK = $(wildcard tests/test_*.py) tests/data/test_bins.py tests/data/test_scan_folders.py tests/models/test_adapter.py tests/models/test_own_importance.py tests/models/test_scoring.py \
	tests/models/libraries/test_lightgbm.py tests/models/libraries/test_xgboost.py tests/states \
	tests/evaluators/test_importance.py tests/evaluators/test_ale_columns.py tests/evaluators/test_trees_splits.py \
	tests/results/test_hstatistics.py tests/results/test_ale_result.py tests/display/test_plotly.py \
	tests/display/test_picture_laws.py tests/display/test_compose_curves.py tests/laws/test_defects.py tests/contributing

quick:  ## says within a minute whether something broke; no law, no cluster, no browser
	$(PYTHON) -m pytest $(QUICK) -m 'not slow and not alone and not cluster and not browser' $(PARALLEL)

test:  ## everything but what is slow: laws, tables, models, defects of others, docstrings
	$(PYTHON) -m pytest tests src -m 'not slow and not alone' $(PARALLEL)
	$(PYTHON) -m pytest $(ALONE) -m 'alone and not slow'
	@echo "without the slow tests, which make slow and make ci run"

slow:  ## simulations, measured memory, kernels compiled anew, workers that are killed, further cases of laws
	$(PYTHON) -m pytest tests -m 'slow and not alone and not soak' $(PARALLEL)
	$(PYTHON) -m pytest $(ALONE) -m 'slow and alone'

tests:  ## those of make test and make slow, in one run: files are imported and models fitted once
	$(PYTHON) -m pytest tests src -m 'not alone and not soak' $(PARALLEL)
	$(PYTHON) -m pytest $(ALONE) -m 'alone and not soak'

soak:  ## further cases of long tests and more random ensembles, which CI leaves out
	$(PYTHON) -m pytest tests -m soak $(PARALLEL)
	$(PYTHON) -m pytest tests/kernels -m 'not slow' --hypothesis-profile=soak $(PARALLEL)

docs:  ## every code block of README, ARCHITECTURE, CONTRIBUTING and docs
	$(PYTHON) -m pytest README.md ARCHITECTURE.md CONTRIBUTING.md docs --numprocesses logical --dist loadfile

kernels:  # or every process of pages and examples would compile its own, and print that it does
	$(PYTHON) -m paribus compile > /dev/null

docs pages: kernels

pages:
	$(PYTHON) docs/tables/exact.py --check
	$(PYTHON) -m sphinx --quiet --fail-on-warning --keep-going --builder html docs build/site

site: pages  ## the documentation, with every example run, in build/site; a warning is an error
	PARIBUS_SITE=build/site $(PYTHON) -m pytest tests/site/test_built_site.py

gallery:  ## every kind of panel by every renderer, in build/gallery; under two minutes
	$(PYTHON) tests/support/gallery.py build/gallery

# Each keeps one core busy, so that as many run as there are cores; the longest as soon as kernels are compiled.
beside: lint kernels dist pages docs types layers workflows

TOGETHER = --keep-going --jobs $(CORES) $(if $(filter output-sync,$(.FEATURES)),--output-sync=target)

ci:  ## all that a change must pass; the tests of the site are among the others
	$(MAKE) $(TOGETHER) beside
	PARIBUS_SITE=build/site $(MAKE) tests

format:  ## what lint would find, mended where that is possible
	$(PYTHON) -m ruff check --fix .
	$(PYTHON) -m ruff format .

timings:  ## what an answer costs in predicts, memory, import time, first calls
	$(PYTHON) tests/support/timings.py

bench:  ## which kernel became slower since BASE, a commit; about ten minutes
	$(PYTHON) benchmarks/compare.py $(BASE)

bench-peers:  ## the same work on paribus and its peers from PyPI, in docs/benchmarks.md; about forty minutes
	$(PYTHON) benchmarks/peers.py

engines:  ## cost by rows, files, columns and tasks on Dask and Spark; a quarter of an hour and 20 MB for each of MILLIONS
	$(PYTHON) tests/support/scale_engines.py $(or $(MILLIONS),200)

scale:  ## fifty million rows streamed and on a cluster, workers killed; about half an hour and 10 GB of disk
	$(PYTHON) tests/support/scale.py

laws:  ## reference, compiled and brute force on 10,000 random ensembles
	$(PYTHON) -m pytest tests/kernels/test_kernels.py --hypothesis-profile=laws

pipelines:  ## exact against brute force on 5,000 random pipelines; about half an hour
	$(PYTHON) -m pytest tests/models/test_random_pipelines.py --hypothesis-profile=pipelines -s

fuzz:  ## 70,000 damaged results, checkpoints, booster dumps and model files; at most two hours
	$(PYTHON) tests/support/fuzz.py

SEED = 1
COUNT = 300
MINUTES = 120

mutants:  ## whether tests detect COUNT random faults of SEED in four packages; at most MINUTES, and about an hour
	$(PYTHON) tests/support/mutants.py --seed $(SEED) --count $(COUNT) --minutes $(MINUTES)

differential:  ## 1,000 random models against loops, 5,000 damaged files against their libraries; MINUTES, SEED
	$(PYTHON) tests/support/differential.py --minutes $(MINUTES) --seed $(SEED)

pictures:  ## those of the documentation, drawn anew; a browser photographs the sample report
	$(PYTHON) docs/pictures/draw.py

tables:  ## docs/exact.md, from a call of every verb on a small model of every family; about a minute
	$(PYTHON) docs/tables/exact.py

floors:  ## the tests on the oldest versions we allow; old libraries warn, so warnings are no errors here
	rm -rf .venv-floors && $(PYTHON) -m venv .venv-floors
	.venv-floors/bin/python -m pip install --quiet --upgrade pip
	.venv-floors/bin/python -m pip install --quiet --editable '.[plot,plotly]' --group test --constraint tests/support/floors.txt
	.venv-floors/bin/python -m pytest tests src -m 'not alone' -W default $(PARALLEL)
	.venv-floors/bin/python -m pytest $(ALONE) -m alone -W default

dist:  ## wheel and sdist, looked into and used in clean environments: each extra, every Python of this machine
	$(PYTHON) tools/distribution.py

SCRIPTS = $$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("scripts"))')
SCHEMA = "$(SCRIPTS)/check-jsonschema" --quiet --builtin-schema

workflows:  ## pins, permissions and injections of the workflow files; forms and citation by their schemas
	"$(SCRIPTS)/zizmor" --offline --quiet .github action.yml
	$(SCHEMA) vendor.github-workflows .github/workflows/*.yml
	$(SCHEMA) vendor.dependabot .github/dependabot.yml
	$(SCHEMA) vendor.github-actions action.yml
	$(SCHEMA) vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(SCHEMA) vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(SCHEMA) vendor.citation-file-format CITATION.cff

pythons:  ## the quick tests on every other supported Python of this machine
	$(PYTHON) tools/pythons.py

release-check:  ## whether everything is ready for a tag: versions, tree, distributions, documentation
	$(PYTHON) tools/release.py check
