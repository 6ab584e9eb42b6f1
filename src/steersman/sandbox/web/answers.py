# SPDX-License-Identifier: Apache-2.0
"""Parts of answers that several pages share, as documented in `docs/web-api.md`.

Field names are camelCase in JSON. Fields at their default are left out only where the documentation
says so (`omit_defaults`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from steersman import api
from steersman.api import timestamps
from steersman.base import InputError
from steersman.scheduler.queue import Place, QueuedPodInfo, SchedulingQueue


class WebPart(msgspec.Struct, frozen=True, rename="camel"):
    """Base of the parts of answers."""


class LaneCounts(WebPart, frozen=True):
    """Number of pods in each sub-queue."""

    active: int
    backoff: int
    error_backoff: int
    unschedulable: int
    gated: int
    in_flight: int

    @property
    def total(self) -> int:
        return self.active + self.backoff + self.error_backoff + self.unschedulable + self.gated + self.in_flight


def sub_queue_sizes(queue: SchedulingQueue) -> LaneCounts:
    sizes = queue.statistics()
    return LaneCounts(
        sizes.active, sizes.backoff, sizes.error_backoff, sizes.unschedulable, sizes.gated, sizes.in_flight
    )


_LANES = {
    Place.ACTIVE: "active",
    Place.BACKOFF: "backoff",
    Place.ERROR_BACKOFF: "errorBackoff",
    Place.UNSCHEDULABLE: "unschedulable",
    Place.IN_FLIGHT: "inFlight",
    Place.OUTSIDE: "gone",
}


def sub_queue_of(queued: QueuedPodInfo) -> str:
    """Return the sub-queue of a pod; "gone" if the pod has left the queue."""
    return "gated" if queued.place is Place.UNSCHEDULABLE and queued.is_gated else _LANES[queued.place]


class TaintPart(WebPart, frozen=True, omit_defaults=True):
    key: str
    effect: str
    value: str = ""


def taint_parts(taints: Sequence[api.Taint]) -> list[TaintPart]:
    return [TaintPart(taint.key, taint.effect, taint.value) for taint in taints]


class EventRow(WebPart, frozen=True):
    """An event of the cluster. `about` is such as `Pod default/web-0`, `component` is the reporter,
    such as `kubelet`; `count` is the number of occurrences so far."""

    at: float
    type: str
    reason: str
    about: str
    message: str
    component: str = ""
    count: int = 1


class ClockPart(WebPart, frozen=True):
    """Clock of a sandbox."""

    now: float
    paused: bool
    stepping: bool
    speed: str


class InputProblem(WebPart, frozen=True, omit_defaults=True):
    """A problem with an input: its location, and a remedy."""

    message: str
    field: str | None = None
    value: str | None = None
    hint: str | None = None
    object: str | None = None
    line: int | None = None


def problem_of(error: InputError) -> InputProblem:
    value = None if error.value is None else str(error.value)
    return InputProblem(error.message, error.field, value, error.hint, error.object, error.line)


def seconds_of(timestamp: str | None) -> float:
    """Return a timestamp of an object in seconds; 0 if it is missing or invalid."""
    if not timestamp:
        return 0.0
    try:
        return timestamps.parse(timestamp)
    except ValueError:
        return 0.0
