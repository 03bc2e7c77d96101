# Every target builds the environment it needs, so `make demo` and `make test` work in a fresh clone.
# Another interpreter: make test PYTHON=/path/to/python3.11 PYTHON312=/path/to/python3.12

# $(call usable-python,MINOR,CANDIDATES): the first candidate that can build an environment and is
# at least Python 3.MINOR. A version manager's command may exist and still not run, so try each.
usable-python = $(shell exec 2>/dev/null; for python in $(2); do \
	"$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info[:2] < (3, $(1)))' \
		&& echo "$$python" && break; done)

# Where pyenv, if there is one, keeps its newest 3.12.
pyenv-3.12 = $$(pyenv prefix "$$(pyenv versions --bare | grep -x '3\.12\.[0-9]*' | tail -n 1)")

PYTHON ?= $(call usable-python,11,python3.11 python3)
PYTHON312 ?= $(call usable-python,12,python3.12 "$(pyenv-3.12)/bin/python3.12")

BIN := .venv/bin
# The files of tests in several processes; tests/conftest.py says in how many, and the order.
TOGETHER := --numprocesses=auto --dist=loadfile --no-loadscope-reorder
# Whole runs, other processes and browsers: measuring their coverage would double their time, and add
# next to nothing to what the other tests show.
UNMEASURED := tests/chaos tests/course tests/docs tests/sweeps tests/visualization tests/test_readme.py \
	tests/analysis/test_bertrand_theory.py tests/cli/test_recordings.py tests/cli/test_scenarios.py \
	tests/core/test_cost.py tests/core/test_fork.py tests/core/test_resume.py \
	tests/experiments/test_published_systems.py tests/experiments/test_report.py

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo reproduce test environments test-3.12 run-3.12 lint types coverage format \
	docs docs-links screenshots bench chaos integration clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: .venv/ready ## 15 runs of the beauty contest with classical minds, and their plots
	$(BIN)/sabm run kbc --seed 1 --runs 15 --out out/demo
	@echo "The plots are:"
	@ls out/demo/*.png

reproduce: .venv/ready ## the published experiments, small and with classical minds, with reports
	$(BIN)/sabm reproduce --all --out out/reproduce

test: environments lint types coverage test-3.12 ## every gate: style, types, tests with coverage, both Pythons

# Both at once: each waits for the network and the disk.
environments:
	@$(MAKE) --no-print-directory .venv/ready & one=$$!; \
	{ [ -z "$(PYTHON312)" ] || $(MAKE) --no-print-directory .venv-3.12/ready; }; \
	other=$$?; wait $$one && exit $$other

lint: .venv/ready ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: .venv/ready ## mypy on the package
	$(BIN)/mypy

coverage: .venv/ready ## the tests, with the coverage gate
	$(BIN)/pytest $(TOGETHER) $(UNMEASURED)
	$(BIN)/pytest $(TOGETHER) --cov $(UNMEASURED:%=--ignore=%)

test-3.12: ## the tests on Python 3.12, where there is one
	@if [ -n "$(PYTHON312)" ]; then \
		$(MAKE) --no-print-directory run-3.12; \
	else \
		echo "Python 3.12: skipped, no interpreter found (name one with PYTHON312=...)"; \
	fi

run-3.12: .venv-3.12/ready
	.venv-3.12/bin/pytest $(TOGETHER)

format: .venv/ready ## put the code in the project's format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Warnings are errors, also references that lead nowhere and notebooks that fail.
docs: .venv-docs/ready ## the documentation, into docs/_build/html; its examples and links are checked
	.venv-docs/bin/sphinx-build -W --keep-going -n -b html -d docs/_build/doctrees docs docs/_build/html
	.venv-docs/bin/sphinx-build -W --keep-going -n -b doctest -d docs/_build/doctrees docs docs/_build/doctest

docs-links: .venv-docs/ready ## the links of the documentation into the world (needs the internet)
	.venv-docs/bin/sphinx-build -W --keep-going -b linkcheck -d docs/_build/doctrees docs docs/_build/links

screenshots: .venv/ready ## pictures of the viewer, into docs/images (needs chromium)
	$(BIN)/python -m tests.visualization.screenshots

bench: .venv/ready ## the benchmarks, beside mesa-llm where it can be installed (20 minutes)
	-@$(MAKE) --no-print-directory .venv-mesa-llm/ready
	$(BIN)/python -m benchmarks

chaos: .venv/ready ## 10,000 process deaths and 100 SIGKILLs, each followed by resume (10 minutes)
	$(BIN)/python -m tests.chaos

integration: .venv-integration/ready ## the tests against a real llama.cpp server
	.venv-integration/bin/pytest tests/integration

clean: ## remove the environments and what the tools left behind; results in out/ stay
	rm -rf .venv .venv-3.12 .venv-docs .venv-integration .venv-mesa-llm build dist htmlcov .coverage \
		docs/_build docs/api docs/jupyter_execute docs/reference \
		.hypothesis .mypy_cache .pytest_cache .ruff_cache

# An environment is ready when its install finished after the last change to pyproject.toml.
.venv/ready: pyproject.toml
	$(call environment,$(PYTHON))

.venv-3.12/ready: pyproject.toml
	$(call environment,$(PYTHON312))

.venv-integration/ready: pyproject.toml
	$(call environment,$(PYTHON),'llama-cpp-python[server]' gguf)

.venv-docs/ready: pyproject.toml
	$(call environment,$(PYTHON),,docs)

# Another project, which the benchmarks measure beside this one: nothing of this one is in it.
.venv-mesa-llm/ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip --disable-pip-version-check install --quiet 'mesa-llm==0.2.0'
	@touch $@

# $(call environment,INTERPRETER,MORE PACKAGES,EXTRA): the extra is dev unless it is named.
define environment
	@test -n "$(1)" || { echo "Needs Python 3.11 or newer with venv: make PYTHON=..."; exit 1; }
	$(1) -m venv $(@D)
	$(@D)/bin/pip --disable-pip-version-check install --quiet --editable '.[$(or $(3),dev)]' $(2)
	@touch $@
endef
