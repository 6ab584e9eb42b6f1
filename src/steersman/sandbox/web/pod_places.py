# SPDX-License-Identifier: Apache-2.0
"""Places of pods as one word, tables of pods, and search for pods and nodes by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from steersman import api
from steersman.sandbox.web.answers import WebPart, seconds_of, sub_queue_of
from steersman.sandbox.web.attempt_feed import AttemptFeed
from steersman.scheduler.assembly import Scheduler

MAX_PODS: Final = 5000
MAX_FOUND: Final = 100
BOUND: Final = "bound"


class PodTable(WebPart, frozen=True):
    """Pods in columns: the i-th entries of all lists belong to one pod."""

    now: float
    total: int
    offset: int
    pod: list[str]
    place: list[str]
    node: list[str]
    phase: list[str]
    priority: list[int]
    created: list[float]
    attempts: list[int]
    resources: list[str]
    requests: list[list[int]]


class PodFilter(WebPart, frozen=True):
    """Filter of pods; "" matches any value."""

    node: str = ""
    place: str = ""
    namespace: str = ""
    text: str = ""

    def matches(self, key: str, pod: api.Pod, place: str) -> bool:
        return (
            (not self.node or pod.spec.node_name == self.node)
            and (not self.namespace or pod.metadata.namespace == self.namespace)
            and (not self.place or place == self.place)
            and self.text in key
        )


class FoundNode(WebPart, frozen=True):
    name: str
    row: int


class FoundPod(WebPart, frozen=True):
    pod: str
    place: str
    node: str


class SearchResult(WebPart, frozen=True):
    nodes: list[FoundNode]
    pods: list[FoundPod]
    truncated: bool


def place_of(scheduler: Scheduler, key: str, pod: api.Pod) -> str:
    """Return "bound", "finished", "elsewhere", or the sub-queue."""
    if pod.status.phase in api.FINISHED_PHASES:
        return "finished"
    if pod.spec.node_name:
        return BOUND
    queued = scheduler.queue.get(key)
    if queued is not None:
        return sub_queue_of(queued)
    profile = pod.scheduler_name
    return "inFlight" if profile in scheduler.profiles else "elsewhere"


def attempts_of(scheduler: Scheduler, feed: AttemptFeed, key: str) -> int:
    """Return the number of attempts on a pod; 0 if unknown."""
    queued = scheduler.queue.get(key)
    return feed.attempts(key) if queued is None else queued.attempts


def pod_table(
    scheduler: Scheduler, feed: AttemptFeed, wanted: PodFilter, limit: int, offset: int
) -> Iterator[PodTable | None]:
    """Yield None after every few hundred pods, so that the caller can do other work, then the
    table."""
    found: list[tuple[str, api.Pod, str]] = []
    for number, (key, pod) in enumerate(list(scheduler.pods.items())):
        place = place_of(scheduler, key, pod) if wanted.place else ""
        if wanted.matches(key, pod, place):
            found.append((key, pod, place))
        if not number % 500:
            yield None
    found.sort(key=lambda each: each[0])
    yield _table(scheduler, feed, found[offset : offset + limit], len(found), offset)


def _table(
    scheduler: Scheduler, feed: AttemptFeed, rows: list[tuple[str, api.Pod, str]], total: int, offset: int
) -> PodTable:
    infos = [scheduler.cache.shapes.info(pod) for _, pod, _ in rows]
    resources = sorted({name for info in infos for name, amount in info.shape.requests.items() if amount})
    return PodTable(
        scheduler.clock.now(),
        total,
        offset,
        [key for key, _, _ in rows],
        [place or place_of(scheduler, key, pod) for key, pod, place in rows],
        [pod.spec.node_name for _, pod, _ in rows],
        [pod.status.phase for _, pod, _ in rows],
        [pod.spec.priority or 0 for _, pod, _ in rows],
        [seconds_of(pod.metadata.creation_timestamp) for _, pod, _ in rows],
        [attempts_of(scheduler, feed, key) for key, _, _ in rows],
        resources,
        [[info.requests(name) for info in infos] for name in resources],
    )


def search(scheduler: Scheduler, text: str, limit: int) -> SearchResult:
    """Return names that contain the text; those that begin with it come first."""
    table = scheduler.cache.nodes
    nodes = _ranked([table.names[row] for row in table.live_rows()], text, limit + 1)
    pods = _ranked(list(scheduler.pods), text, limit + 1)
    return SearchResult(
        [FoundNode(name, table.rows[name]) for name in nodes[:limit]],
        [_found(scheduler, key) for key in pods[:limit]],
        len(nodes) > limit or len(pods) > limit,
    )


def _ranked(names: list[str], text: str, most: int) -> list[str]:
    wanted = text.lower()
    containing = (name for name in names if wanted in name.lower())
    ranked = sorted(islice(containing, 20 * MAX_FOUND), key=lambda name: (not _begins(name, wanted), name))
    return ranked[:most]


def _begins(name: str, text: str) -> bool:
    """Return whether the name of a node, or of a pod with or without namespace, begins with the
    text."""
    return name.lower().startswith(text) or name.rpartition("/")[2].lower().startswith(text)


def _found(scheduler: Scheduler, key: str) -> FoundPod:
    pod = scheduler.pods[key]
    return FoundPod(key, place_of(scheduler, key, pod), pod.spec.node_name)
