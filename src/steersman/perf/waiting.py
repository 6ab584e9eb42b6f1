"""Waiting until so many pods of a namespace are scheduled, or have been tried: counted as they change, not polled.

The operations that end with their pods' scheduling use it, and barriers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from steersman import api
from steersman.errors import SteersmanError
from steersman.perf.cluster import Cluster
from steersman.perf.operations import Stage

LONGEST_SECONDS: Final = 600.0
"""As upstream: so long an operation waits for its pods."""
POD_SCHEDULED: Final = "PodScheduled"


class WorkloadError(SteersmanError):
    """A workload cannot go on."""


class Tally:
    """How many of some pods are at a stage; `reached` waits for enough of them."""

    def __init__(self, cluster: Cluster, namespace: str, selector: Mapping[str, str], stage: Stage) -> None:
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


def is_at(pod: api.Pod, stage: Stage) -> bool:
    if pod.spec.node_name:
        return True
    return stage is Stage.ATTEMPTED and any(condition.type == POD_SCHEDULED for condition in pod.status.conditions)


def matches(pod: api.Pod, selector: Mapping[str, str]) -> bool:
    if not selector:
        return True
    labels = pod.metadata.labels
    return all(labels.get(name) == value for name, value in selector.items())


def _why(conditions: Iterable[api.Condition]) -> str:
    return next((c.message for c in conditions if c.type == POD_SCHEDULED and c.message), "has not been tried")
