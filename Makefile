# Every target builds the environment it needs, so `make demo` and `make test` work in a fresh clone.
# Another interpreter: make test PYTHON=/path/to/python3.11, make check PYTHON312=... PYTHON313=...

# $(call usable-python,TEST OF THE VERSION,CANDIDATES): the first candidate that can build an
# environment and passes. A version manager's command may exist and still not run, so try each.
usable-python = $(shell exec 2>/dev/null; for python in $(2); do \
	"$$python" -c 'import ensurepip, venv; from sys import version_info as v; exit(not v[:2] $(1))' \
		&& echo "$$python" && break; done)

# $(call pyenv-python,MINOR): where pyenv, if there is one, keeps its newest Python 3.MINOR.
pyenv-python = "$$(pyenv prefix "$$(pyenv versions --bare | grep -x '3\.$(1)\.[0-9]*' \
	| tail -n 1)")/bin/python3.$(1)"

PYTHON ?= $(call usable-python,>= (3$(comma) 11),python3.11 python3)
PYTHON312 ?= $(call usable-python,== (3$(comma) 12),python3.12 $(call pyenv-python,12))
PYTHON313 ?= $(call usable-python,== (3$(comma) 13),python3.13 $(call pyenv-python,13))
comma := ,

BIN := .venv/bin
# The files of tests in several processes; tests/conftest.py says in how many, and the order.
TOGETHER := --numprocesses=auto --dist=loadfile --no-loadscope-reorder
FAST := $(TOGETHER) -m "not slow"
PIP_INSTALL := pip --disable-pip-version-check install --quiet --no-compile

# pip leaves compiling to the first import, and what is compiled has to be kept then: without it
# each command compiles Mesa, pandas and matplotlib again, which takes most of its time.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo reproduce test check lint types coverage slow long other-pythons package format \
	corpus docs docs-links results notebooks screenshots bench calibration chaos locked \
	prices sbom clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9.-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

demo: .venv/ready ## 15 runs with classical minds, one with a language model on this machine, and plots
	$(BIN)/sabm run kbc --seed 1 --runs 15 --out out/demo
	@rm -rf out/demo-local
	-@$(MAKE) --no-print-directory .venv/weights \
		|| echo "No language model here (the reason is above); the classical runs need none."
	@[ ! -e .venv/weights ] || { \
		echo "$(BIN)/sabm run kbc --minds local --set n_players=6 --rounds 2 --seed 1" && \
		$(BIN)/sabm run kbc --minds local --set n_players=6 --rounds 2 --seed 1 \
			--out out/demo-local; }
	@echo "The plots are:"
	@ls out/demo*/*.png

reproduce: .venv/ready ## the published experiments, small and with classical minds, with reports
	$(BIN)/sabm reproduce --all --out out/reproduce

# mypy runs beside the tests: it uses one core, and they use what is left. COVERAGE=--cov adds the
# coverage gate.
test: lint ## style, types and the fast tier of the tests, on one Python (3 minutes on two cores)
	@$(BIN)/mypy & types=$$!; \
	$(BIN)/pytest $(FAST) $(COVERAGE); tests=$$?; \
	wait $$types && exit $$tests

# TESTED=yes says that `make coverage` has just passed on the same files, so it is not run again.
check: $(if $(TESTED),,coverage) slow other-pythons docs package ## every gate, on every Python that is there

lint: .venv/dev ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: .venv/dev ## mypy on the package
	$(BIN)/mypy

coverage: ## make test, with the coverage gate
	@$(MAKE) --no-print-directory test COVERAGE=--cov

slow: .venv/check .venv/weights ## the slow tier: browsers, Ray, killed processes, local models (needs chromium)
	$(BIN)/pytest $(TOGETHER) -m "slow and not long"

long: .venv/check .venv/weights ## the longest tests: every scenario and answer format with a local model, tutorials (20 minutes)
	$(BIN)/pytest -m long

# The fast tests that Python and Mesa can change, without commands: the newest Mesa 3 needs 3.12. On
# 3.13 without models, with as many random worlds as the slow tier.
other-pythons: ## the tests on Python 3.12 and 3.13, if they are there
	$(call on-python,3.12,$(PYTHON312),dev,-m "not slow and not check_once" --ignore=tests/cli)
	$(call on-python,3.13,$(PYTHON313),dev,-m "not slow and not check_once" \
		--ignore=tests/models --ignore=tests/cli --hypothesis-profile=check)

# With the locked packages, so that those are tried too; the other environments have the newest ones.
package: .venv/check ## sdist and wheel, built and installed with the locked packages in an empty environment
	rm -rf dist .venv-package
	$(BIN)/python -m build --no-isolation
	$(PYTHON) -m venv .venv-package
	.venv-package/bin/$(PIP_INSTALL) --require-hashes --requirement requirements-locked.txt
	.venv-package/bin/$(PIP_INSTALL) --no-deps dist/*.whl
	.venv-package/bin/pip --disable-pip-version-check check
	cd dist && ../.venv-package/bin/sabm run kbc --rounds 2 --out demo

sbom: package .venv-sbom/ready ## dist/sbom.cdx.json: what the built package is installed with (CycloneDX)
	.venv-sbom/bin/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml \
		--output-file dist/sbom.cdx.json .venv-package/bin/python

corpus: .venv/dev ## how real answers are read, by game and model: make corpus CORPUS=FILE (the shipped ones)
	$(BIN)/python -m tests.core.score $(CORPUS)

format: .venv/dev ## put the code in the project's format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# Warnings are errors, also references that lead nowhere and notebooks that fail.
docs: .venv/docs ## the documentation, into docs/_build/html; its examples and links are checked
	$(BIN)/sphinx-build -W --keep-going -n -j auto -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -n -b doctest -d docs/_build/doctrees docs docs/_build/doctest

docs-links: .venv/docs ## the links of the documentation into the world (needs the internet)
	$(BIN)/sphinx-build -W --keep-going -b linkcheck -d docs/_build/doctrees docs docs/_build/links

results: .venv/local ## docs/results.md: what is missing there is played by a model of 1.1 GB (hours; MINDS=SPEC)
	$(BIN)/python -m tools.results $(MINDS)

notebooks: .venv/docs ## the tutorials with what they show, into docs/tutorials
	$(BIN)/python -m tools.notebooks

screenshots: .venv/check ## pictures of the viewer, into docs/images (needs chromium)
	$(BIN)/python -m tests.visualization.browser.screenshots

bench: .venv/check .venv/weights ## the benchmarks, beside mesa-llm where it can be installed (an hour)
	-@$(MAKE) --no-print-directory .venv-mesa-llm/ready
	$(BIN)/python -m benchmarks

calibration: .venv/dev ## how often verdicts are wrong, into benchmarks/calibration.md (10 minutes; DRAWS=N)
	$(BIN)/python -m benchmarks.calibration $(if $(DRAWS),--draws $(DRAWS))

chaos: .venv/dev ## 200 commands that ask language models are killed and 90 stopped; each goes on (30 minutes)
	$(BIN)/python -m tests.chaos

# For all systems and all Pythons of pyproject.toml, with the hashes of all files and without addresses.
locked: .venv-locked/ready ## requirements-locked.txt: the newest packages that fit, with their hashes
	.venv-locked/bin/uv pip compile --quiet --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-annotate --no-header pyproject.toml --output-file requirements-locked.txt

# The newest release of genai-prices, in an environment of its own: the package does not need it.
prices: .venv-prices/ready ## sabm_mesa/llm/prices.json: what models cost today (run it before a release)
	.venv-prices/bin/$(PIP_INSTALL) --upgrade genai-prices
	.venv-prices/bin/python tools/prices.py

clean: ## remove the environments and what the tools left behind; results in out/ stay
	rm -rf .venv .venv-* build dist htmlcov .coverage \
		docs/_build docs/api docs/jupyter_execute docs/reference \
		.hypothesis .mypy_cache .pytest_cache .ruff_cache

# An environment is ready when its install finished after the last change to pyproject.toml. The demo
# needs the package alone; each extra is added to the same environment when a target needs it.
.venv/ready: pyproject.toml
	$(call environment,$(PYTHON))

.venv/%: .venv/ready
	$(BIN)/$(PIP_INSTALL) --editable '.[$*]'
	@touch $@

# the weights of the included model, 98 MB, into the user's cache; what is there is only checked.
# This is done each time, since the cache may be cleared.
.PHONY: .venv/weights
.venv/weights: .venv/local
	@rm -f $@
	$(BIN)/sabm models get smollm2
	@touch $@

.venv-locked/ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/$(PIP_INSTALL) 'uv>=0.5'
	@touch $@

.venv-sbom/ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/$(PIP_INSTALL) 'cyclonedx-bom>=7,<8'
	@touch $@

.venv-prices/ready:
	$(PYTHON) -m venv $(@D)
	@touch $@

# Another project, which the benchmarks measure beside this one: nothing of this one is in it.
.venv-mesa-llm/ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/$(PIP_INSTALL) 'mesa-llm==0.2.0'
	@touch $@

# $(call environment,INTERPRETER,EXTRA,MORE PACKAGES)
define environment
	@test -n "$(1)" || { echo "Needs Python 3.11 or newer with venv: make PYTHON=..."; exit 1; }
	$(1) -m venv $(@D)
	$(@D)/bin/$(PIP_INSTALL) --editable '.$(2)' $(3)
	@touch $@
endef

# $(call on-python,NAME,INTERPRETER,EXTRA,WHICH TESTS)
define on-python
	@if [ -z "$(2)" ]; then \
		echo "$(1): skipped, no Python for it (name one with PYTHON312=... and PYTHON313=...)"; \
	else \
		echo "$(1)" && $(2) -m venv .venv-$(1) \
		&& .venv-$(1)/bin/$(PIP_INSTALL) --editable '.[$(3)]' \
		&& .venv-$(1)/bin/pytest $(TOGETHER) $(4); \
	fi
endef
