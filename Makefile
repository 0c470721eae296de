# make book: everything from a fresh clone to the finished book.  make test: the whole test suite.
PYTHON ?= python3.11
VENV   := .venv
PY     := $(VENV)/bin/python

.PHONY: book test check format clean

book: $(VENV)/ready
	$(PY) -m erlib run --benchmark permuted_mnist --method er --memory ring --source mnist-5k --results build/quickstart

test: $(VENV)/ready
	$(PY) -m pytest -q

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

clean:
	rm -rf $(VENV) build book/_build
