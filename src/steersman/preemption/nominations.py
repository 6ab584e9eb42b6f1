"""Pods that lose their nomination when a more important pod makes room on the same node."""

from __future__ import annotations

from collections.abc import Iterable

from steersman.framework.pod_info import PodInfo


def outranked(nominated: Iterable[PodInfo], preemptor: PodInfo) -> list[PodInfo]:
    """Those of lower priority: they may no longer fit there, and should look elsewhere soon."""
    return [pod for pod in nominated if pod.priority < preemptor.priority]
