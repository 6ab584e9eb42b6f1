# SPDX-License-Identifier: Apache-2.0
"""Versions of Steersman and of the emulated kube-scheduler, shown by `--version`, the first line of
the log, `kubernetes_build_info` and `/statusz`."""

from __future__ import annotations

from typing import Final

DEFAULT_EMULATED_VERSION: Final = "1.37"
"""The version that is emulated unless `--emulated-version` names another one."""
#: Release of each version that can be emulated.
KUBE_SCHEDULER_RELEASES: Final = {"1.36": "v1.36.4", "1.37": "v1.37.1"}
#: Release of Kubernetes whose decisions, texts and metrics are reproduced by default.
KUBE_SCHEDULER_VERSION: Final = KUBE_SCHEDULER_RELEASES[DEFAULT_EMULATED_VERSION]
UNKNOWN: Final = "unknown"


def steersman_version() -> str:
    """Return the installed version, or "unknown" for sources that are not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("steersman")
    except PackageNotFoundError:
        return UNKNOWN
