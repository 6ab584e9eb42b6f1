# SPDX-License-Identifier: Apache-2.0
"""Where pods are, in one word each; tables of pods, and the search for pods and nodes by name."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from steersman import api
from steersman.assembly import Scheduler
from steersman.framework.pod_info import DEFAULT_SCHEDULER_NAME
from steersman.ingest.handlers import FINISHED_PHASES
from steersman.web.answers import WebPart, lane_of, seconds_of

MOST_PODS: Final = 5000
MOST_FOUND: Final = 100


class PodTable(WebPart, frozen=True):
    """Pods in columns: the i-th entry of every list is about the same pod."""

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
    """Which pods are wanted; "" : any."""

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
    """ "bound", "finished", "elsewhere", or the lane of the queue."""
    if pod.status.phase in FINISHED_PHASES:
        return "finished"
    if pod.spec.node_name:
        return "bound"
    queued = scheduler.queue.get(key)
    if queued is not None:
        return lane_of(queued)
    profile = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
    return "inFlight" if profile in scheduler.profiles else "elsewhere"


def attempts_of(scheduler: Scheduler, key: str) -> int:
    """How often a pod that waits was tried; 0 for one that does not wait any more."""
    queued = scheduler.queue.get(key)
    return 0 if queued is None else queued.attempts


def pod_table(scheduler: Scheduler, wanted: PodFilter, limit: int, offset: int) -> Iterator[PodTable | None]:
    """None after every few hundred pods, then the table: whoever asks may do something else in between."""
    found: list[tuple[str, api.Pod, str]] = []
    for number, (key, pod) in enumerate(list(scheduler.pods.items())):
        place = place_of(scheduler, key, pod) if wanted.place else ""
        if wanted.matches(key, pod, place):
            found.append((key, pod, place))
        if not number % 500:
            yield None
    found.sort(key=lambda each: each[0])
    yield _table(scheduler, found[offset : offset + limit], len(found), offset)


def _table(scheduler: Scheduler, rows: list[tuple[str, api.Pod, str]], total: int, offset: int) -> PodTable:
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
        [attempts_of(scheduler, key) for key, _, _ in rows],
        resources,
        [[info.requests(name) for info in infos] for name in resources],
    )


def search(scheduler: Scheduler, text: str, limit: int) -> SearchResult:
    """Names that contain the text; those that begin with it come first."""
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
    ranked = sorted(islice(containing, 20 * MOST_FOUND), key=lambda name: (not _begins(name, wanted), name))
    return ranked[:most]


def _begins(name: str, text: str) -> bool:
    """Whether the name of a pod, with or without its namespace, or of a node begins with the text."""
    return name.lower().startswith(text) or name.rpartition("/")[2].lower().startswith(text)


def _found(scheduler: Scheduler, key: str) -> FoundPod:
    pod = scheduler.pods[key]
    return FoundPod(key, place_of(scheduler, key, pod), pod.spec.node_name)
