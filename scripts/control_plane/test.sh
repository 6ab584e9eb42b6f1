#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# End-to-end tests against real programs of a cluster: builds them if needed, and skips with a message if it cannot. With CI=true
# that is a failure, because a gate must not skip tests.
# test.sh PYTHON [FILE…]   PROGRAMS="etcd …" names other programs of the default version than `make e2e`
set -eu
python=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
programs=${PROGRAMS:-etcd kube-apiserver kube-scheduler kube-controller-manager kubectl helm}
newer="etcd kube-apiserver kube-scheduler"

# Prints the folder of a version's programs, after building missing ones; exit code 3 if Go is needed and missing.
# Program names have no blanks: $2 is deliberately unquoted.
provide() {
    if "$python" -m steersman.testing.control_plane --version "$1" $2 2>/dev/null; then
        :
    elif [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
        "$python" -m steersman.testing.control_plane --version "$1" $2
    elif command -v go >/dev/null 2>&1; then
        sh "$here/build.sh" --version "$1" $2
    else
        return 3
    fi
}

if assets=$(provide 1.36 "$programs") && next=$(provide 1.37 "$newer"); then
    :
elif [ $? -ne 3 ]; then
    exit 1
elif [ "${CI:-}" = true ]; then
    echo "e2e: failed: Go is not installed, so etcd and kube-apiserver cannot be built; install Go or set KUBEBUILDER_ASSETS" >&2
    exit 1
else
    echo "e2e: skipped: Go is not installed, so etcd and kube-apiserver cannot be built; install Go or set KUBEBUILDER_ASSETS"
    exit 0
fi
echo "e2e: control planes in $assets and $next"
if tools=$(sh "$here/../test_tools.sh"); then
    PATH=$tools:$PATH
elif [ "${CI:-}" = true ]; then
    echo "e2e: failed: programs that read what we ship are missing" >&2
    exit 1
else
    echo "e2e: tests of shipped files are skipped where the program is missing"
fi
if CHROMIUM=$(sh "$here/../browser.sh"); then
    export CHROMIUM
elif [ "${CI:-}" = true ]; then
    echo "e2e: failed: there is no browser to look at pages with" >&2
    exit 1
else
    echo "e2e: tests of pages are skipped: there is no browser"
fi
[ $# -gt 0 ] || set -- tests/e2e
exec "$python" -m pytest "$@"
