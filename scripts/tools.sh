#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools.sh VENV: the environment of uv and of the SBOM's validator, from requirements/tools.lock. Nothing else is installed there.
set -eu
venv=$1
. "$(dirname "$0")/retry.sh"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
attempt "$venv/bin/python" -m pip --disable-pip-version-check install --quiet --require-hashes -r requirements/tools.lock
