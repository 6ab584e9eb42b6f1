# SPDX-License-Identifier: Apache-2.0
"""Locations of the binaries of a real cluster, which `make e2e` builds, for each Kubernetes
version.

`Binaries.find` requires etcd, kube-apiserver and kube-scheduler; others are found on demand.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Self

import msgspec

from steersman.base import KUBE_SCHEDULER_RELEASES, SteersmanError

DEFAULT: Final = "1.36"
"""The version whose control plane is started by default; all programs are built for it."""
KUBERNETES_VERSION: Final = KUBE_SCHEDULER_RELEASES[DEFAULT]
KUBE_CONTROLLER_MANAGER: Final = "kube-controller-manager"
KUBECTL: Final = "kubectl"
HELM: Final = "helm"
E2E_TEST: Final = "e2e.test"
"""Upstream's end-to-end tests, built by `make upstream-e2e` and `make sandbox-conformance`."""
_CORE: Final = ("etcd", "kube-apiserver", "kube-scheduler")


class BinariesMissingError(SteersmanError):
    """Error: a binary is missing."""


class Binaries(msgspec.Struct, frozen=True):
    """Paths of the binaries of one Kubernetes version."""

    etcd: Path
    kube_apiserver: Path
    kube_scheduler: Path
    version: str = DEFAULT
    """Minor version such as `1.37`; Steersman emulates it on this control plane."""

    @classmethod
    def find(cls, version: str = DEFAULT) -> Self:
        """Find the binaries of a version such as `1.37`; see `assets_folder`."""
        return cls.in_folder(assets_folder(version), version)

    @classmethod
    def in_folder(cls, folder: Path, version: str = DEFAULT) -> Self:
        etcd, api_server, scheduler = (_program(folder, name) for name in _CORE)
        return cls(etcd, api_server, scheduler, version)

    @property
    def folder(self) -> Path:
        return self.etcd.parent

    def program(self, name: str) -> Path:
        """Return the path of another program. Raise `BinariesMissingError` if it is missing."""
        return _program(self.folder, name)


def assets_folder(version: str = DEFAULT) -> Path:
    """Return the folder that `scripts/control_plane/build.sh` builds a version into.

    `KUBEBUILDER_ASSETS` is the folder of the default version; others lie beside it.
    """
    release = KUBE_SCHEDULER_RELEASES[version]
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(assets) if version == DEFAULT else Path(assets).parent / release
    return cache_folder() / "control-plane" / release


def cache_folder() -> Path:
    """Return the folder for files that are built once."""
    if own := os.environ.get("STEERSMAN_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steersman"


def _program(folder: Path, name: str) -> Path:
    path = folder / name
    if not os.access(path, os.X_OK):
        target = "upstream-e2e" if name == E2E_TEST else "e2e"
        raise BinariesMissingError(
            f"{path}: there is no such program; `make {target}` builds those of Kubernetes, etcd and Helm "
            "(it needs Go), or point KUBEBUILDER_ASSETS at a folder that has them"
        )
    return path
