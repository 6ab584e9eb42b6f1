#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The end-to-end tests against real programs of a cluster: builds them when needed, and says so when it cannot. With CI=true
# that is a failure: a gate that skips what it cannot run lets everything through.
# test.sh PYTHON [FILE…]   PROGRAMS="etcd …" names other programs than those of `make e2e`
set -eu
python=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
programs=${PROGRAMS:-etcd kube-apiserver kube-scheduler kube-controller-manager kubectl helm}

# Names of programs have no blanks: $programs is several words on purpose.
if assets=$("$python" -m steersman.testing.control_plane $programs 2>/dev/null); then
    :
elif [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    "$python" -m steersman.testing.control_plane $programs
elif command -v go >/dev/null 2>&1; then
    assets=$(sh "$here/build.sh" $programs)
elif [ "${CI:-}" = true ]; then
    echo "e2e: failed: Go is not installed, so etcd and kube-apiserver cannot be built; install Go or set KUBEBUILDER_ASSETS" >&2
    exit 1
else
    echo "e2e: skipped: Go is not installed, so etcd and kube-apiserver cannot be built; install Go or set KUBEBUILDER_ASSETS"
    exit 0
fi
echo "e2e: control plane in $assets"
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
