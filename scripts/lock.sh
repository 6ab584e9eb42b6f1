#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lock.sh UV [OPTION…]: regenerates requirements/*.lock from pyproject.toml, for every supported Python and platform, with the
# hash of every file. Locked versions stay while they satisfy pyproject.toml; `--upgrade`, or `--upgrade-package NAME`, gets newer
# releases. No file names an index: installations use their configured one.
set -eu
uv=$1
shift
. "$(dirname "$0")/retry.sh"

compile() {
    output=$1
    shift
    attempt "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-package steersman \
        --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --output-file "$output" "$@"
}

compile requirements/run.lock "$@" pyproject.toml
compile requirements/dev.lock "$@" --extra dev --constraint requirements/run.lock pyproject.toml
compile requirements/tools.lock "$@" --group pyproject.toml:tools
compile requirements/docs.lock "$@" --group pyproject.toml:docs
compile requirements/clients.lock "$@" --group pyproject.toml:clients
compile requirements/browser.lock "$@" --group pyproject.toml:browser
compile requirements/node.lock "$@" --group pyproject.toml:node
compile requirements/notebook.lock "$@" --extra frames --group pyproject.toml:notebook --constraint requirements/dev.lock pyproject.toml
compile requirements/ray.lock "$@" --extra ray --constraint requirements/run.lock pyproject.toml
compile requirements/mcp.lock "$@" --extra mcp --constraint requirements/run.lock pyproject.toml
