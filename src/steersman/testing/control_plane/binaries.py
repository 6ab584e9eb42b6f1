# SPDX-License-Identifier: Apache-2.0
"""Where etcd, kube-apiserver and kube-scheduler are. Used by `plane` and `schedulers`; built by `make e2e`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Self

import msgspec

from steersman.errors import SteersmanError

KUBERNETES_VERSION: Final = "v1.36.4"


class BinariesMissingError(SteersmanError):
    """There is no control plane on this machine."""


class Binaries(msgspec.Struct, frozen=True):
    """Paths of the programs."""

    etcd: Path
    kube_apiserver: Path
    kube_scheduler: Path

    @classmethod
    def find(cls) -> Self:
        """In `KUBEBUILDER_ASSETS` when that is set, else in the cache directory."""
        return cls.in_folder(assets_folder())

    @classmethod
    def in_folder(cls, folder: Path) -> Self:
        found = cls(folder / "etcd", folder / "kube-apiserver", folder / "kube-scheduler")
        for path in (found.etcd, found.kube_apiserver, found.kube_scheduler):
            if not os.access(path, os.X_OK):
                raise BinariesMissingError(
                    f"{path}: there is no such program; `make e2e` builds etcd, kube-apiserver and kube-scheduler "
                    f"{KUBERNETES_VERSION} (it needs Go), or point KUBEBUILDER_ASSETS at a folder that has them"
                )
        return found


def assets_folder() -> Path:
    """The folder that `scripts/control_plane/build.sh` builds into."""
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        return Path(assets)
    return _cache() / "control-plane" / KUBERNETES_VERSION


def _cache() -> Path:
    if own := os.environ.get("STEERSMAN_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "steersman"
