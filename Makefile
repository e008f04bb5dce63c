# Every target sets up what it needs: a fresh machine with Python 3.11, pip and make is enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test docs bench clean

demo: .venv/core
	$(BIN)/certiclust demo

# numba's cache does not notice a change in a kernel that another file's kernel calls, so it starts empty here.
test: .venv/test
	find certiclust -name '*.nb[ci]' -delete
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest -n auto

docs: .venv/docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build
	@echo docs/_build/index.html

# Hours: every table of docs/benchmarks.md. One section of one file takes minutes.
bench: .venv/bench
	set -e; for name in gsemo_speed algorithms startup kmedian kcenter ktmm kmeans fair sweep theory; do \
		OMP_NUM_THREADS=1 $(BIN)/python benchmarks/$$name.py; done

.venv/python:
	$(PYTHON) -m venv .venv
	touch $@

.venv/core: .venv/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

.venv/test: .venv/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[test]"
	touch $@

.venv/docs: .venv/core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[docs]"
	touch $@

.venv/bench: .venv/test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[bench]"
	touch $@

clean:
	rm -rf docs/_build docs/generated docs/gallery .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
