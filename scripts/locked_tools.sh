#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# locked_tools.sh VENV LOCK: creates an environment with exactly the packages of the lock, verified by hash: developer tools (uv,
# the SBOM validator, MkDocs) that must not be in the environment in which Steersman is tested.
set -eu
venv=$1
lock=$2
. "$(dirname "$0")/retry.sh"
echo "install: $(grep -c '==' "$lock") packages of $lock go into $venv; once"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
attempt "$venv/bin/python" -m pip --disable-pip-version-check install --require-hashes -r "$lock"
