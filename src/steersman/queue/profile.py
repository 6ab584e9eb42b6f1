"""What the queue needs to know of a scheduling profile: who may gate its pods, and which events may wake them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from steersman import api
from steersman.framework.events import ClusterEventWithHint
from steersman.framework.status import Status


class PreEnqueue(Protocol):
    """A plugin that decides whether a pod may enter activeQ."""

    @property
    def name(self) -> str: ...

    def pre_enqueue(self, pod: api.Pod, /) -> Status | None:
        """None or Success lets the pod in; everything else gates it until an event that the plugin registered for."""


@dataclass(frozen=True, slots=True)
class QueueProfile:
    """One profile's share in the queue: PreEnqueue plugins in their order, and (plugin name, registration) rows."""

    pre_enqueue: Sequence[PreEnqueue] = ()
    hints: Sequence[tuple[str, ClusterEventWithHint]] = ()
