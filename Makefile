# The whole developer interface. Every target installs what it needs into .venv first.
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
BUNDLES := $(or $(wildcard ../shared/golden/*.jsonl.gz),$(wildcard tests/golden/*.jsonl.gz))
# FILES=… runs some of them.
FILES ?= $(BUNDLES)

.PHONY: run test check bench race conformance e2e chaos install clean

install: $(STAMP)

$(STAMP): pyproject.toml scripts/install.sh
	sh scripts/install.sh $(VENV)
	@touch $(STAMP)

run: $(STAMP)
	$(VENV)/bin/steersman simulate -f examples/quickstart/cluster.yaml -f examples/quickstart/pods.yaml --seed 1

test: $(STAMP)
	$(PY) -m pytest

check: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports

bench: $(STAMP)
	$(PY) -m benchmarks

# Against kube-scheduler itself, on one real API server; RACE="--rounds 1 basic" runs a part of it.
race: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh) $(PY) -m benchmarks.race $(RACE)

conformance: $(STAMP)
	$(VENV)/bin/steersman conformance $(FILES)

e2e: $(STAMP)
	@sh scripts/control_plane/test.sh $(PY) $(TESTS)

# Random faults over two replicas on a real control plane: make chaos MINUTES=30 SEED=7 CHAOS="--scheduler steersman"
chaos: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh) $(PY) -m tests.chaos \
		--minutes $(or $(MINUTES),5) --seed $(or $(SEED),1) $(CHAOS)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
