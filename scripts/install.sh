#!/bin/sh
# Creates the virtual environment and installs Steersman with its development tools into it.
# Uses uv where there is one, else venv and pip. A registry that answers "too many requests" is asked again.
set -eu
venv=${1:-.venv}

attempt() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        if [ "$tries" -ge 5 ]; then
            echo "install: giving up after $tries attempts: $*" >&2
            return 1
        fi
        echo "install: attempt $tries failed, next one in $((tries * 10)) s" >&2
        sleep $((tries * 10))
    done
}

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "install: Steersman needs Python 3.11 or newer; $("$python" --version) found. Set PYTHON to another interpreter." >&2
    exit 1
}
if command -v uv >/dev/null 2>&1; then
    [ -x "$venv/bin/python" ] || uv venv --quiet --python "$python" "$venv"
    attempt uv pip install --quiet --python "$venv/bin/python" -e '.[dev]'
else
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    attempt "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -e '.[dev]'
fi
