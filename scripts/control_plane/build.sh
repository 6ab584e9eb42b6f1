#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build programs of a real cluster from their published Go modules, each once, into the cache directory.
# build.sh [--version 1.36|1.37] [PROGRAM…]
#   etcd, kube-apiserver, kube-scheduler, kube-controller-manager, kubectl, helm or e2e.test; default: the first three.
#   etcd, kubectl and helm are built once; the folder of the other version has links. e2e.test is of the first version.
# Prints the directory of the binaries as its last line: KUBEBUILDER_ASSETS if it is set. Programs of another version than the
# first are in a folder next to it, named after the release.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
first=1.36
version=$first
if [ "${1:-}" = --version ]; then
    version=$2
    shift 2
fi
modules=$here/v$version
[ -f "$modules/go.mod" ] || { echo "$version: there are no modules of this version; known are 1.36 and 1.37" >&2; exit 1; }

release=$(sed -n 's/.*k8s\.io\/kubernetes \(v[0-9.]*\).*/\1/p' "$modules/go.mod")
if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    if [ "$version" = "$first" ]; then echo "$KUBEBUILDER_ASSETS"; else echo "$(dirname "$KUBEBUILDER_ASSETS")/$release"; fi
    exit 0
fi
assets=${STEERSMAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/steersman}/control-plane/$release
stamp=k8s.io/component-base/version
flags="-s -w -X $stamp.gitVersion=$release -X $stamp.gitMajor=1 -X $stamp.gitMinor=${version#1.}"

package_of() {
    case $1 in
    etcd) echo go.etcd.io/etcd/server/v3 ;;
    kube-apiserver | kube-scheduler | kube-controller-manager | kubectl) echo "k8s.io/kubernetes/cmd/$1" ;;
    helm) echo helm.sh/helm/v3/cmd/helm ;;
    e2e.test) echo k8s.io/kubernetes/test/e2e ;;
    *)
        echo "$1: there is no such program; known are etcd, kube-apiserver, kube-scheduler, kube-controller-manager," \
            "kubectl, helm and e2e.test" >&2
        exit 1
        ;;
    esac
}

# A registry may answer 429 for a while; completed downloads stay in Go's module cache.
download() {
    tries=0
    until go list -deps $2 "$1" >/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 5 ] || { echo "the Go modules of $1 could not be downloaded" >&2; exit 1; }
        sleep $((tries * 15))
    done
}

# Built under a temporary name, so that an interrupted build is repeated.
build() {
    package=$(package_of "$1")
    began=$(date +%s)
    if [ "$1" = helm ]; then cd "$here/helm"; else cd "$modules"; fi
    if [ "$1" = e2e.test ]; then command="go test -c" tests=-test; else command="go build" tests=; fi
    download "$package" "$tests"
    CGO_ENABLED=0 $command -buildvcs=false -trimpath -ldflags "$flags" -o "$assets/.$1.$$" "$package"
    mv "$assets/.$1.$$" "$assets/$1"
    echo "built $1 of $version in $(($(date +%s) - began)) s" >&2
}

[ $# -gt 0 ] || set -- etcd kube-apiserver kube-scheduler
missing=
for program in "$@"; do
    package_of "$program" >/dev/null
    [ -x "$assets/$program" ] || missing="$missing $program"
done
if [ -n "$missing" ]; then
    mkdir -p "$assets"
    echo "building$missing into $assets; see docs/end-to-end.md for how long it takes" >&2
    for program in $missing; do
        case $version/$program in
        $first/*) build "$program" ;;
        */etcd | */kubectl | */helm | */e2e.test) ln -sf "$(sh "$here/build.sh" "$program")/$program" "$assets/$program" ;;
        *) build "$program" ;;
        esac
    done
fi
echo "$assets"
