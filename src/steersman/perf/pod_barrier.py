# SPDX-License-Identifier: Apache-2.0
"""The wait until so many pods of a namespace are scheduled, or have been tried: counted as they change, not polled.

Operations that end when their pods are scheduled use it, and the operation `barrier`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from steersman import api
from steersman.perf.host import BenchCluster, WorkloadError
from steersman.perf.operations import PodStage

LONGEST_SECONDS: Final = 600.0
"""The longest time that an operation waits for its pods, as upstream."""
POD_SCHEDULED: Final = "PodScheduled"


class PodBarrier:
    """Counts the pods of a namespace that are at a stage; `reached` waits for enough of them."""

    def __init__(self, cluster: BenchCluster, namespace: str, selector: Mapping[str, str], stage: PodStage) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._selector = selector
        self._stage = stage
        self._changed = asyncio.Event()
        #: How many are wanted.
        self.wanted = 0
        self.count = sum(map(self._counts, cluster.pods().values()))

    async def reached(self, wanted: int) -> None:
        """Returns when there are so many; raises `WorkloadError` when that takes too long."""
        self.wanted = wanted
        stop = self._cluster.listen(self._on_pod)
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                while self.count < wanted:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise self._overdue() from error
        finally:
            stop()

    def _on_pod(self, old: api.Pod | None, new: api.Pod | None) -> None:
        difference = self._counts(new) - self._counts(old)
        if difference:
            self.count += difference
            if self.count >= self.wanted:
                self._changed.set()

    def _counts(self, pod: api.Pod | None) -> bool:
        return pod is not None and is_at(pod, self._stage) and self._is_ours(pod)

    def _is_ours(self, pod: api.Pod) -> bool:
        return pod.metadata.namespace == self._namespace and matches(pod, self._selector)

    def _overdue(self) -> WorkloadError:
        late = next((pod for pod in self._cluster.pods().values() if self._is_late(pod)), None)
        example = "" if late is None else f"; {api.key(late)}: {_why(late.status.conditions)}"
        return WorkloadError(
            f"{self.count} of {self.wanted} pods in namespace {self._namespace} are {self._stage.lower()} after "
            f"{LONGEST_SECONDS:g} seconds{example}"
        )

    def _is_late(self, pod: api.Pod) -> bool:
        return self._is_ours(pod) and not is_at(pod, self._stage)


def is_at(pod: api.Pod, stage: PodStage) -> bool:
    if pod.spec.node_name:
        return True
    return stage is PodStage.ATTEMPTED and any(condition.type == POD_SCHEDULED for condition in pod.status.conditions)


def matches(pod: api.Pod, selector: Mapping[str, str]) -> bool:
    if not selector:
        return True
    labels = pod.metadata.labels
    return all(labels.get(name) == value for name, value in selector.items())


def _why(conditions: Iterable[api.Condition]) -> str:
    return next((c.message for c in conditions if c.type == POD_SCHEDULED and c.message), "has not been tried")
