#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lowest.sh UV [TEST…]: runs tests in .venv-lowest, with the oldest direct dependencies that pyproject.toml allows. Default: the
# tests of the packages that use these dependencies, without linters.
set -eu
uv=$1
shift
cd "$(dirname "$0")/.."
. scripts/retry.sh
venv=.venv-lowest
[ -x "$venv/bin/python" ] || "$uv" venv --quiet --python "${PYTHON:-python3}" "$venv"
mkdir -p build
attempt "$uv" pip compile --quiet --resolution lowest-direct --python "$venv/bin/python" --extra dev --output-file build/lowest.txt pyproject.toml
attempt "$uv" pip install --quiet --python "$venv/bin/python" -r build/lowest.txt
attempt "$uv" pip install --quiet --python "$venv/bin/python" --no-deps --no-build-isolation -e .
[ $# -gt 0 ] || set -- tests/api tests/cel tests/cli tests/client tests/config tests/extenders tests/kube/observe tests/kube/serving tests/state
exec "$venv/bin/python" -m pytest -n auto --dist worksteal "$@"
