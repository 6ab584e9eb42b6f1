#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build etcd, kube-apiserver and kube-scheduler from their published Go modules, once, into the cache directory.
# Prints the directory of the binaries as its last line. KUBEBUILDER_ASSETS, when set, is taken as it is.
set -eu
version=v1.36.4
here=$(cd "$(dirname "$0")" && pwd)

if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    echo "$KUBEBUILDER_ASSETS"
    exit 0
fi
assets=${STEERSMAN_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/steersman}/control-plane/$version
if [ ! -f "$assets/.built" ]; then
    mkdir -p "$assets"
    echo "building etcd, kube-apiserver and kube-scheduler $version into $assets (about ten minutes on two cores)" >&2
    cd "$here"
    # A registry may answer 429 for a while; what has been downloaded stays in Go's module cache.
    tries=0
    until go mod download; do
        tries=$((tries + 1))
        [ "$tries" -lt 5 ] || { echo "the Go modules could not be downloaded" >&2; exit 1; }
        sleep $((tries * 15))
    done
    package=k8s.io/component-base/version
    stamps="-X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=36"
    for component in go.etcd.io/etcd/server/v3:etcd \
        k8s.io/kubernetes/cmd/kube-apiserver:kube-apiserver k8s.io/kubernetes/cmd/kube-scheduler:kube-scheduler; do
        CGO_ENABLED=0 go build -buildvcs=false -trimpath -ldflags "-s -w $stamps" \
            -o "$assets/${component##*:}" "${component%:*}"
    done
    touch "$assets/.built"
fi
echo "$assets"
