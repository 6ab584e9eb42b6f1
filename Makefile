# SPDX-License-Identifier: Apache-2.0
# The whole developer interface. Every target installs what it needs into .venv first.
VENV := .venv
# Tests and benchmarks start hundreds of processes. Without bytecode files each of them compiles every module.
unexport PYTHONDONTWRITEBYTECODE
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
BUNDLES := $(or $(wildcard ../shared/golden/*.jsonl.gz),$(wildcard tests/golden/*.jsonl.gz)) \
	$(or $(wildcard ../shared/golden-1.37/*.jsonl.gz),$(wildcard tests/golden/1.37/*.jsonl.gz))
RECORDED := $(or $(wildcard ../shared/validation/*.jsonl.gz),$(wildcard tests/golden/validation/*.jsonl.gz))
# FILES=… runs some of them.
FILES ?= $(BUNDLES)

TOOLS := .venv-tools
TOOLS_STAMP := $(TOOLS)/.installed

DOCS := .venv-docs
DOCS_STAMP := $(DOCS)/.installed

CLIENTS := .venv-clients
CLIENTS_STAMP := $(CLIENTS)/.installed

BROWSER := .venv-browser
BROWSER_STAMP := $(BROWSER)/.installed

NOTEBOOK := .venv-notebook
NOTEBOOK_STAMP := $(NOTEBOOK)/.installed

NODE := .venv-node

# The web page: built by Node, which comes from the machine or into .venv-node.
PAGE := src/steersman/base/report/page/report.js
PAGE_SOURCES := $(shell find web -type f -not -path '*/node_modules/*' 2>/dev/null)

RAY := .venv-ray
RAY_STAMP := $(RAY)/.installed

MCP := .venv-mcp
MCP_STAMP := $(MCP)/.installed

.PHONY: run test properties check fixes-check docs web web-check web-pictures bench bench-scale bench-sandbox bench-web report-picture race shadow-check conformance validation e2e upstream-e2e upstream-integration sandbox-conformance chaos matrix lowest lock sbom release spdx figures install clean

install: $(STAMP)

$(STAMP): pyproject.toml requirements/dev.lock scripts/install.sh scripts/protobuf_fields.py
	sh scripts/install.sh $(VENV)
	@touch $(STAMP)

$(TOOLS_STAMP): requirements/tools.lock scripts/locked_tools.sh
	sh scripts/locked_tools.sh $(TOOLS) requirements/tools.lock
	@touch $(TOOLS_STAMP)

$(DOCS_STAMP): requirements/docs.lock scripts/locked_tools.sh
	sh scripts/locked_tools.sh $(DOCS) requirements/docs.lock
	@touch $(DOCS_STAMP)

$(CLIENTS_STAMP): requirements/clients.lock scripts/locked_tools.sh
	sh scripts/locked_tools.sh $(CLIENTS) requirements/clients.lock
	@touch $(CLIENTS_STAMP)

$(BROWSER_STAMP): requirements/browser.lock scripts/locked_tools.sh
	sh scripts/locked_tools.sh $(BROWSER) requirements/browser.lock
	@touch $(BROWSER_STAMP)

$(NOTEBOOK_STAMP): requirements/notebook.lock scripts/locked_tools.sh
	sh scripts/locked_tools.sh $(NOTEBOOK) requirements/notebook.lock
	@touch $(NOTEBOOK_STAMP)

$(RAY_STAMP): requirements/ray.lock scripts/locked_tools.sh
	sh scripts/locked_tools.sh $(RAY) requirements/ray.lock
	@touch $(RAY_STAMP)

$(MCP_STAMP): requirements/mcp.lock scripts/locked_tools.sh
	sh scripts/locked_tools.sh $(MCP) requirements/mcp.lock
	@touch $(MCP_STAMP)

run: $(STAMP)
	$(VENV)/bin/steersman simulate -f examples/quickstart/cluster.yaml -f examples/quickstart/pods.yaml --seed 1

# One worker per core; idle workers steal tests. TESTS="tests/api tests/client" runs a part.
test: $(STAMP)
	@echo "test: all tests, or TESTS=\"tests/queue tests/cli\"; about five minutes on two cores, with a percentage at the end of each line"
	$(PY) -m pytest -n auto --dist worksteal $(TESTS)

# Property tests only, with four times the examples of `make test`, or EXAMPLES=20 times.
properties: $(STAMP)
	STEERSMAN_EXAMPLES=$(or $(EXAMPLES),4) $(PY) -m pytest -n auto --dist worksteal -m hypothesis $(TESTS)

check: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PY) -m scripts.spdx

# Applies the fixes of generated pending pods and simulates the result: make fixes-check FIXES="--pods 50"
fixes-check: $(STAMP)
	$(PY) -m tests.fixes $(FIXES)

# Builds the site in build/site: pages, and a reference generated from the code. Warnings are errors.
docs: $(STAMP) $(DOCS_STAMP)
	$(PY) -m scripts.site build/site-source
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@echo "build/site/index.html"

# Builds the web page into the package.
web: $(PAGE)

$(PAGE): $(PAGE_SOURCES) scripts/web_page.py | $(STAMP)
	$(PY) -m scripts.web_page build

# Lints, type-checks and tests the sources of the page; not part of `make check` because it needs Node.
web-check: $(STAMP)
	$(PY) -m scripts.web_page check

bench: $(STAMP)
	$(PY) -m benchmarks

# Measures simulations of 5,000 and 100,000 nodes; SCALE="--million" 1,000,000 nodes with 1,000,000 pods, in 6 GB.
bench-scale: $(STAMP)
	$(PY) -m benchmarks scale $(SCALE)

# Renders the picture of docs/how-to/reports.md in Chromium.
report-picture: $(STAMP) $(BROWSER_STAMP)
	CHROMIUM=$$(sh scripts/browser.sh) BROWSER_PYTHON=$(BROWSER)/bin/python $(PY) -m scripts.report_picture docs/report.png

# Renders the pictures of docs/how-to/web.md in Chromium.
web-pictures: $(STAMP) $(BROWSER_STAMP) $(PAGE)
	CHROMIUM=$$(sh scripts/browser.sh) BROWSER_PYTHON=$(BROWSER)/bin/python $(PY) -m scripts.web_pictures docs/web

# Measures the web page of a busy sandbox, a large report file, and ten open pages: WEB="500 5000" are nodes and pods.
bench-web: $(STAMP) $(BROWSER_STAMP) $(PAGE)
	CHROMIUM=$$(sh scripts/browser.sh) BROWSER_PYTHON=$(BROWSER)/bin/python $(PY) -m benchmarks.web $(WEB)
	CHROMIUM=$$(sh scripts/browser.sh) BROWSER_PYTHON=$(BROWSER)/bin/python $(PY) -m benchmarks.web.report_file $(WEB)
	$(PY) -m benchmarks.web_page

# Compares throughput with kube-scheduler on one real API server: RACE="--rounds 1 basic", RACE="--version 1.37 gang"
race: $(STAMP)
	$(if $(findstring 1.37,$(RACE)),sh scripts/control_plane/build.sh --version 1.37)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh) $(PY) -m benchmarks.race $(RACE)

# Runs a shadow of kube-scheduler with the workloads of the race; SHADOW="--nodes 300 --pods 1000" makes it smaller.
shadow-check: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh) $(PY) -m benchmarks.shadow --weights 100 $(SHADOW)

# Scales a Deployment on a sandbox with three watching clients: SANDBOX="2000 200" are pods and nodes.
bench-sandbox: $(STAMP)
	$(PY) -m benchmarks.sandbox $(SANDBOX)

conformance: $(STAMP)
	$(VENV)/bin/steersman conformance $(FILES)

# Compares the sandbox's answers to valid and invalid objects with recorded answers of kube-apiserver v1.36.4.
validation: $(STAMP)
	$(PY) -m tests.validation.recorded_answers $(RECORDED)

e2e: $(STAMP) $(PAGE) $(CLIENTS_STAMP) $(BROWSER_STAMP) $(NOTEBOOK_STAMP) $(RAY_STAMP) $(MCP_STAMP)
	@CLIENTS_PYTHON=$(CURDIR)/$(CLIENTS)/bin/python BROWSER_PYTHON=$(CURDIR)/$(BROWSER)/bin/python \
		NOTEBOOK_PYTHON=$(CURDIR)/$(NOTEBOOK)/bin/python RAY_PYTHON=$(CURDIR)/$(RAY)/bin/python \
		MCP_PYTHON=$(CURDIR)/$(MCP)/bin/python \
		sh scripts/control_plane/test.sh $(PY) $(TESTS)

# Runs upstream's scheduling tests with kube-scheduler and with Steersman: make upstream-e2e UPSTREAM="--scheduler steersman"
upstream-e2e: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh etcd kube-apiserver kube-scheduler kube-controller-manager e2e.test) \
		$(PY) -m tests.upstream $(UPSTREAM)

# Runs upstream's integration tests of the scheduler: make upstream-integration VERSION=1.36 INTEGRATION="taint --focus Taint"
upstream-integration: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh etcd) $(PY) -m tests.upstream.integration \
		--version $(or $(VERSION),1.37) $(INTEGRATION)

# Runs upstream's conformance specs on a sandbox: make sandbox-conformance UPSTREAM="--group sig-apps --focus ReplicaSet"
sandbox-conformance: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh etcd kube-apiserver kube-scheduler kubectl e2e.test) \
		$(PY) -m tests.upstream --sandbox $(UPSTREAM)

# Injects random faults into two replicas on a real control plane: make chaos MINUTES=30 SEED=7 CHAOS="--scheduler steersman"
chaos: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh) $(PY) -m tests.chaos \
		--minutes $(or $(MINUTES),5) --seed $(or $(SEED),1) $(CHAOS)

# Runs `make test` with every installed supported Python; TESTS="tests/api tests/client" runs a part.
matrix:
	@sh scripts/matrix.sh $(TESTS)

# Runs the tests with the oldest dependencies that pyproject.toml allows.
lowest: $(TOOLS_STAMP)
	sh scripts/lowest.sh $(TOOLS)/bin/uv $(TESTS)

# Regenerates requirements/*.lock; LOCK=--upgrade upgrades everything, LOCK="--upgrade-package aiohttp" one package.
lock: $(TOOLS_STAMP)
	sh scripts/lock.sh $(TOOLS)/bin/uv $(LOCK)

# Writes the image's bill of materials (CycloneDX) and validates it against the schema.
sbom: $(STAMP) $(TOOLS_STAMP)
	@mkdir -p dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PY) -m scripts.sbom dist/steersman.cdx.json
	$(TOOLS)/bin/python scripts/check_sbom.py dist/steersman.cdx.json

# Builds all release artifacts reproducibly in dist/; RELEASE="--base-image python:3.13-slim@sha256:…", see docs/release.md.
release: $(STAMP) $(TOOLS_STAMP)
	$(PY) -m scripts.release $(RELEASE)
	$(TOOLS)/bin/python scripts/check_sbom.py dist/steersman-*.cdx.json

# SPDX=--fix inserts the licence line where it is missing.
spdx: $(STAMP)
	$(PY) -m scripts.spdx $(SPDX)

figures: $(STAMP)
	$(PY) -m scripts.structure_figures $(BEFORE)

clean:
	rm -rf $(VENV) $(VENV)-[0-9]* $(VENV)-lowest $(TOOLS) $(DOCS) $(CLIENTS) $(BROWSER) $(NOTEBOOK) $(RAY) $(MCP) $(NODE) web/node_modules src/steersman/sandbox/web/page src/steersman/base/report/page dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
