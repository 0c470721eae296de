# make book: everything from a fresh clone to the finished book.  make test: the whole test suite.
PYTHON ?= python3.11
VENV   := .venv
PY     := $(VENV)/bin/python
# an environment that the shell is in would be taken for ours
unexport VIRTUAL_ENV

.PHONY: book test bench check format clean

book: $(VENV)/ready
	$(PY) -m erlib book

test: $(VENV)/ready
	$(PY) -m pytest -q -n auto --dist loadfile --nbval-lax --nbval-current-env tests notebooks book/pages

bench: $(VENV)/ready .venv-avalanche/ready
	$(PY) -m erlib bench

check: $(VENV)/ready
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .

format: $(VENV)/ready
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# The environment, made once and again when the pins change.
$(VENV)/ready: requirements.txt constraints.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

# Avalanche has pins of its own, and only the bench needs it.
.venv-avalanche/ready: bench/requirements.txt
	$(PYTHON) -m venv .venv-avalanche
	.venv-avalanche/bin/python -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt
	touch $@

clean:
	rm -rf $(VENV) .venv-avalanche build book/_build
