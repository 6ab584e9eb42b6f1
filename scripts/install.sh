#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh [VENV]: creates the virtual environment and installs the packages of requirements/dev.lock, verified by hash, and this
# checkout of Steersman. Uses uv if it is installed, else venv and pip.
set -eu
venv=${1:-.venv}
. "$(dirname "$0")/retry.sh"

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "install: Steersman needs Python 3.11 or newer; $("$python" --version) found. Set PYTHON to another interpreter." >&2
    exit 1
}
echo "install: $(grep -c '==' requirements/dev.lock) packages of requirements/dev.lock, and Steersman, go into $venv; once, a minute or more"
# Without build isolation, Steersman is built with the locked hatchling instead of the newest.
if command -v uv >/dev/null 2>&1; then
    [ -x "$venv/bin/python" ] || uv venv --quiet --python "$python" "$venv"
    attempt uv pip install --python "$venv/bin/python" --require-hashes -r requirements/dev.lock
    echo "install: Steersman itself"
    attempt uv pip install --python "$venv/bin/python" --no-deps --no-build-isolation -e .
else
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    set -- "$venv/bin/python" -m pip --disable-pip-version-check install --no-compile
    attempt "$@" --require-hashes -r requirements/dev.lock
    echo "install: Steersman itself"
    attempt "$@" --no-deps --no-build-isolation -e .
fi
# Compile bytecode once, in parallel, even if PYTHONDONTWRITEBYTECODE is set: otherwise every start compiles four hundred
# modules, which takes most of its time. Only imported packages are compiled.
echo "install: compiling modules"
"$venv/bin/python" -m compileall -q -j 0 -x '/(tests?|pip|setuptools|mypyc)/' src "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
