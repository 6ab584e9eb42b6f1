# SPDX-License-Identifier: Apache-2.0
"""Where the programs of a real cluster are. Used by `plane`, `schedulers` and `controller_manager`; built by `make e2e`.

etcd, kube-apiserver and kube-scheduler are there whenever `Binaries.find` succeeds; the others are looked for when a test asks.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Self

import msgspec

from steersman.errors import SteersmanError

KUBERNETES_VERSION: Final = "v1.36.4"
KUBE_CONTROLLER_MANAGER: Final = "kube-controller-manager"
KUBECTL: Final = "kubectl"
HELM: Final = "helm"
E2E_TEST: Final = "e2e.test"
"""Upstream's own end-to-end tests; `make upstream-e2e` alone builds them."""
_CORE: Final = ("etcd", "kube-apiserver", "kube-scheduler")


class BinariesMissingError(SteersmanError):
    """There is no control plane on this machine."""


class Binaries(msgspec.Struct, frozen=True):
    """Paths of the programs."""

    etcd: Path
    kube_apiserver: Path
    kube_scheduler: Path

    @classmethod
    def find(cls) -> Self:
        """The program in `KUBEBUILDER_ASSETS` when that is set, else in the cache directory."""
        return cls.in_folder(assets_folder())

    @classmethod
    def in_folder(cls, folder: Path) -> Self:
        return cls(*(_program(folder, name) for name in _CORE))

    @property
    def folder(self) -> Path:
        return self.etcd.parent

    def program(self, name: str) -> Path:
        """A program beside them, such as `kubectl`; `BinariesMissingError` when it has not been built."""
        return _program(self.folder, name)


def assets_folder() -> Path:
    """The folder that `scripts/control_plane/build.sh` builds into."""
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(assets)
    return _cache() / "control-plane" / KUBERNETES_VERSION


def _cache() -> Path:
    if own := os.environ.get("STEERSMAN_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steersman"


def _program(folder: Path, name: str) -> Path:
    path = folder / name
    if not os.access(path, os.X_OK):
        target = "upstream-e2e" if name == E2E_TEST else "e2e"
        raise BinariesMissingError(
            f"{path}: there is no such program; `make {target}` builds those of Kubernetes {KUBERNETES_VERSION}, etcd and Helm "
            "(it needs Go), or point KUBEBUILDER_ASSETS at a folder that has them"
        )
    return path
