# SPDX-License-Identifier: Apache-2.0
"""Versions of Steersman and of the emulated kube-scheduler, shown by `--version`, the first line of
the log, `kubernetes_build_info` and `/statusz`."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

#: Release of Kubernetes whose decisions, texts and metrics are reproduced.
KUBE_SCHEDULER_VERSION: Final = "v1.36.4"
UNKNOWN: Final = "unknown"


def steersman_version() -> str:
    """Return the installed version, or "unknown" for sources that are not installed."""
    try:
        return version("steersman")
    except PackageNotFoundError:
        return UNKNOWN
