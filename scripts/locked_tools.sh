#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# locked_tools.sh VENV LOCK: an environment with what the lock names, each with its hash, and nothing else: tools of the developers
# (uv and the SBOM's validator, MkDocs) that are not to be among what Steersman is tested with.
set -eu
venv=$1
lock=$2
. "$(dirname "$0")/retry.sh"
echo "install: $(grep -c '==' "$lock") packages of $lock go into $venv; once"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
attempt "$venv/bin/python" -m pip --disable-pip-version-check install --require-hashes -r "$lock"
