# SPDX-License-Identifier: Apache-2.0
"""The parts of answers that several pages share, as `docs/web-api.md` documents them.

Field names travel in camelCase. What is at its default is left out only where the documentation says so (`omit_defaults`).
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from steersman import api
from steersman.api import timestamps
from steersman.errors import InputError
from steersman.queue import SchedulingQueue
from steersman.queue.queued_pod import Place, QueuedPodInfo


class WebPart(msgspec.Struct, frozen=True, rename="camel"):
    """Base of all parts of answers."""


class LaneCounts(WebPart, frozen=True):
    """How many pods wait in each lane of the queue."""

    active: int
    backoff: int
    error_backoff: int
    unschedulable: int
    gated: int
    in_flight: int

    @property
    def total(self) -> int:
        return self.active + self.backoff + self.error_backoff + self.unschedulable + self.gated + self.in_flight


def lane_counts(queue: SchedulingQueue) -> LaneCounts:
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


def lane_of(queued: QueuedPodInfo) -> str:
    """The lane that a pod of the queue is in; "gone" for one that has left."""
    return "gated" if queued.place is Place.UNSCHEDULABLE and queued.is_gated else _LANES[queued.place]


class TaintPart(WebPart, frozen=True, omit_defaults=True):
    key: str
    effect: str
    value: str = ""


def taint_parts(taints: Sequence[api.Taint]) -> list[TaintPart]:
    return [TaintPart(taint.key, taint.effect, taint.value) for taint in taints]


class EventRow(WebPart, frozen=True):
    """An event of the cluster. `about` is `Pod default/web-0`, `component` who reports it: `kubelet`, `default-scheduler`."""

    at: float
    type: str
    reason: str
    about: str
    message: str
    component: str = ""


class ClockPart(WebPart, frozen=True):
    """The clock of a sandbox."""

    now: float
    paused: bool
    stepping: bool
    speed: str


class InputProblem(WebPart, frozen=True, omit_defaults=True):
    """A problem with an input: where it is, and what would be right."""

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
    """A timestamp of an object in seconds; 0 without one, or with one that cannot be read."""
    if not timestamp:
        return 0.0
    try:
        return timestamps.parse(timestamp)
    except ValueError:
        return 0.0
