# SPDX-License-Identifier: Apache-2.0
"""Versions: Steersman's own, and that of the kube-scheduler whose decisions it makes. Shown by `--version`, the first line of
the log, `kubernetes_build_info` and `/statusz`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

#: The release of Kubernetes whose decisions, texts and metrics are reproduced.
KUBE_SCHEDULER_VERSION: Final = "v1.36.4"
UNKNOWN: Final = "unknown"


def steersman_version() -> str:
    """The installed version; "unknown" for sources that nobody has installed."""
    try:
        return version("steersman")
    except PackageNotFoundError:
        return UNKNOWN
