# SPDX-License-Identifier: Apache-2.0
# The whole developer interface. Every target installs what it needs into .venv first.
VENV := .venv
# Tests and benchmarks start hundreds of processes. Where nothing may be kept, each of them compiles every module anew.
unexport PYTHONDONTWRITEBYTECODE
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
BUNDLES := $(or $(wildcard ../shared/golden/*.jsonl.gz),$(wildcard tests/golden/*.jsonl.gz))
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
PAGE := src/steersman/sandbox/web/page/index.html
PAGE_SOURCES := $(shell find web -type f -not -path '*/node_modules/*' 2>/dev/null)

RAY := .venv-ray
RAY_STAMP := $(RAY)/.installed

MCP := .venv-mcp
MCP_STAMP := $(MCP)/.installed

.PHONY: run test properties check fixes-check docs web web-check web-pictures bench bench-sandbox bench-web report-picture race shadow-check conformance validation e2e upstream-e2e sandbox-conformance chaos matrix lowest lock sbom release spdx figures install clean

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

# A worker per core; one that is done takes tests over from another. TESTS="tests/api tests/client" runs a part.
test: $(STAMP)
	@echo "test: all tests, or TESTS=\"tests/queue tests/cli\"; about five minutes on two cores, with a percentage at the end of each line"
	$(PY) -m pytest -n auto --dist worksteal $(TESTS)

# Property tests alone, each with so many times the examples of `make test`: make properties EXAMPLES=20 looks for longer.
properties: $(STAMP)
	STEERSMAN_EXAMPLES=$(or $(EXAMPLES),4) $(PY) -m pytest -n auto --dist worksteal -m hypothesis $(TESTS)

check: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(PY) -m mypy
	$(VENV)/bin/lint-imports
	$(PY) -m scripts.spdx

# Fixes of generated pending pods, applied as another program would and simulated from scratch: make fixes-check FIXES="--pods 50"
fixes-check: $(STAMP)
	$(PY) -m tests.fixes $(FIXES)

# The site, into build/site: pages, and a reference that is written from the code. Warnings are errors.
docs: $(STAMP) $(DOCS_STAMP)
	$(PY) -m scripts.site build/site-source
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict --quiet
	@echo "build/site/index.html"

# The web page, into the package.
web: $(PAGE)

$(PAGE): $(PAGE_SOURCES) scripts/web_page.py | $(STAMP)
	$(PY) -m scripts.web_page build

# Lints, type-checks and tests the sources of the page; apart from `make check` because it needs Node.
web-check: $(STAMP)
	$(PY) -m scripts.web_page check

bench: $(STAMP)
	$(PY) -m benchmarks

# The picture of docs/how-to/reports.md, drawn anew by a real browser.
report-picture: $(STAMP) $(BROWSER_STAMP)
	CHROMIUM=$$(sh scripts/browser.sh) BROWSER_PYTHON=$(BROWSER)/bin/python $(PY) -m scripts.report_picture docs/report.png

# The pictures of docs/how-to/web.md, drawn anew by a real browser.
web-pictures: $(STAMP) $(BROWSER_STAMP) $(PAGE)
	CHROMIUM=$$(sh scripts/browser.sh) BROWSER_PYTHON=$(BROWSER)/bin/python $(PY) -m scripts.web_pictures docs/web

# The web page of a sandbox that changes all the time, a large report file, and what ten open pages cost: WEB="500 5000" are nodes and pods.
bench-web: $(STAMP) $(BROWSER_STAMP) $(PAGE)
	CHROMIUM=$$(sh scripts/browser.sh) BROWSER_PYTHON=$(BROWSER)/bin/python $(PY) -m benchmarks.web $(WEB)
	CHROMIUM=$$(sh scripts/browser.sh) BROWSER_PYTHON=$(BROWSER)/bin/python $(PY) -m benchmarks.web.report_file $(WEB)
	$(PY) -m benchmarks.web_page

# Against kube-scheduler itself, on one real API server; RACE="--rounds 1 basic" runs a part of it.
race: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh) $(PY) -m benchmarks.race $(RACE)

# A shadow beside kube-scheduler itself, on the race's workloads; SHADOW="--nodes 300 --pods 1000" runs less.
shadow-check: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh) $(PY) -m benchmarks.shadow --weights 100 $(SHADOW)

# A Deployment on a sandbox, watched by three clients: SANDBOX="2000 200" are pods and nodes.
bench-sandbox: $(STAMP)
	$(PY) -m benchmarks.sandbox $(SANDBOX)

conformance: $(STAMP)
	$(VENV)/bin/steersman conformance $(FILES)

# Recorded answers of kube-apiserver v1.36.4 to right and wrong objects, against those of the sandbox's API server.
validation: $(STAMP)
	$(PY) -m tests.validation.recorded_answers $(RECORDED)

e2e: $(STAMP) $(PAGE) $(CLIENTS_STAMP) $(BROWSER_STAMP) $(NOTEBOOK_STAMP) $(RAY_STAMP) $(MCP_STAMP)
	@CLIENTS_PYTHON=$(CURDIR)/$(CLIENTS)/bin/python BROWSER_PYTHON=$(CURDIR)/$(BROWSER)/bin/python \
		NOTEBOOK_PYTHON=$(CURDIR)/$(NOTEBOOK)/bin/python RAY_PYTHON=$(CURDIR)/$(RAY)/bin/python \
		MCP_PYTHON=$(CURDIR)/$(MCP)/bin/python \
		sh scripts/control_plane/test.sh $(PY) $(TESTS)

# Upstream's own tests of scheduling with kube-scheduler and with Steersman: make upstream-e2e UPSTREAM="--scheduler steersman"
upstream-e2e: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh etcd kube-apiserver kube-scheduler kube-controller-manager e2e.test) \
		$(PY) -m tests.upstream $(UPSTREAM)

# Upstream's conformance specs on a sandbox: make sandbox-conformance UPSTREAM="--group sig-apps --focus ReplicaSet"
sandbox-conformance: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh etcd kube-apiserver kube-scheduler kubectl e2e.test) \
		$(PY) -m tests.upstream --sandbox $(UPSTREAM)

# Random faults over two replicas on a real control plane: make chaos MINUTES=30 SEED=7 CHAOS="--scheduler steersman"
chaos: $(STAMP)
	KUBEBUILDER_ASSETS=$$(sh scripts/control_plane/build.sh) $(PY) -m tests.chaos \
		--minutes $(or $(MINUTES),5) --seed $(or $(SEED),1) $(CHAOS)

# `make test` with every supported Python that is found here; TESTS="tests/api tests/client" runs a part of it.
matrix:
	@sh scripts/matrix.sh $(TESTS)

# The tests with the oldest releases that pyproject.toml allows.
lowest: $(TOOLS_STAMP)
	sh scripts/lowest.sh $(TOOLS)/bin/uv $(TESTS)

# Writes requirements/*.lock anew; LOCK=--upgrade looks for newer releases, LOCK="--upgrade-package aiohttp" for one.
lock: $(TOOLS_STAMP)
	sh scripts/lock.sh $(TOOLS)/bin/uv $(LOCK)

# The bill of materials of the image, CycloneDX, checked against its schema.
sbom: $(STAMP) $(TOOLS_STAMP)
	@mkdir -p dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(PY) -m scripts.sbom dist/steersman.cdx.json
	$(TOOLS)/bin/python scripts/check_sbom.py dist/steersman.cdx.json

# Everything that is published, reproducibly, into dist/; RELEASE="--base-image python:3.13-slim@sha256:…", see docs/release.md.
release: $(STAMP) $(TOOLS_STAMP)
	$(PY) -m scripts.release $(RELEASE)
	$(TOOLS)/bin/python scripts/check_sbom.py dist/steersman-*.cdx.json

# SPDX=--fix inserts the licence line where it is missing.
spdx: $(STAMP)
	$(PY) -m scripts.spdx $(SPDX)

figures: $(STAMP)
	$(PY) -m scripts.structure_figures $(BEFORE)

clean:
	rm -rf $(VENV) $(VENV)-[0-9]* $(VENV)-lowest $(TOOLS) $(DOCS) $(CLIENTS) $(BROWSER) $(NOTEBOOK) $(RAY) $(MCP) $(NODE) web/node_modules src/steersman/sandbox/web/page dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
