#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# matrix.sh [TEST…]: runs the tests with every supported Python that is found (python3.X on the PATH, or in pyenv), each in its own
# environment: .venv-3.11, .venv-3.12, … PYTHONS="3.12 3.13" selects versions. Names missing versions; fails if one fails or none
# is found.
set -u
cd "$(dirname "$0")/.."

find_python() {
    for candidate in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        # pyenv has shims on the PATH for inactive versions; they fail.
        if [ -x "$candidate" ] && "$candidate" -c "import sys; sys.exit(sys.version_info[:2] != tuple(map(int, '$1'.split('.'))))" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

passed='' failed='' missing=''
for version in ${PYTHONS:-3.11 3.12 3.13 3.14}; do
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        missing="$missing $version"
        continue
    fi
    echo "matrix: Python $version ($("$python" --version 2>&1))"
    if PYTHON=$python sh scripts/install.sh ".venv-$version" && ".venv-$version/bin/python" -m pytest -n auto --dist worksteal "$@"; then
        passed="$passed $version"
    else
        failed="$failed $version"
    fi
done
echo "matrix: passed:${passed:- none}; failed:${failed:- none}; no interpreter found:${missing:- none}"
[ -z "$failed" ] && [ -n "$passed" ]
