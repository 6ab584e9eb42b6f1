# SPDX-License-Identifier: Apache-2.0
"""What a run came to: placements, pending pods, utilisation, events, and explanations on request.

Made by `Simulation.run`; a picture of that moment, which later runs do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import msgspec

from steersman.explain import Explanation
from steersman.sim.events import Event
from steersman.sim.placements import Placement
from steersman.sim.utilisation import Utilisation
from steersman.sim.writer import Preemption


class Summary(msgspec.Struct, frozen=True):
    """The run in numbers."""

    nodes: int
    #: Pods that came without a node and still exist.
    pods: int
    scheduled: int
    pending: int
    preempted: int
    #: Attempts to place a pod.
    decisions: int
    #: Virtual time since the start.
    seconds: float


class Result:
    """See the module's text. Pods are named `namespace/name`; the order is that of the input."""

    def __init__(
        self,
        placements: Mapping[str, Placement],
        utilisation: Utilisation,
        preempted: tuple[Preemption, ...],
        events: tuple[Event, ...],
        notes: tuple[str, ...],
        decisions: int,
        seconds: float,
        explain: Callable[[str], Explanation],
    ) -> None:
        #: Every pod that came without a node: where it went, or why it is pending.
        self.placements = placements
        self.utilisation = utilisation
        #: Pods that had to make room for others.
        self.preempted = preempted
        #: What the scheduler would have written about pods.
        self.events = events
        #: What the reader should know about the input: one line each.
        self.notes = notes
        self._decisions = decisions
        self._seconds = seconds
        self._explain = explain

    @cached_property
    def pending(self) -> Mapping[str, Placement]:
        """The placements without a node, or whose binding has not happened."""
        return {key: placement for key, placement in self.placements.items() if placement.is_pending}

    @cached_property
    def failed(self) -> Mapping[str, Placement]:
        """The pending pods for which something is broken: a plugin raised, or answered nonsense."""
        return {key: placement for key, placement in self.pending.items() if placement.is_error}

    @cached_property
    def summary(self) -> Summary:
        return Summary(
            nodes=len(self.utilisation.nodes),
            pods=len(self.placements),
            scheduled=len(self.placements) - len(self.pending),
            pending=len(self.pending),
            preempted=len(self.preempted),
            decisions=self._decisions,
            seconds=self._seconds,
        )

    def explain(self, pod: str) -> Explanation:
        """Every node × plugin for one pod: of the cycle that placed it, or, if it is pending, of the end of the run.

        For a placed pod that was not named in `run(explain=…)` the simulation is run again, which gives the same result.
        Raises `InputError` for a pod that is not among the placements.
        """
        return self._explain(pod)

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, dicts and values."""
        document: dict[str, Any] = msgspec.to_builtins(
            {
                "summary": self.summary,
                "placements": list(self.placements.values()),
                "preempted": list(self.preempted),
                "utilisation": self.utilisation,
                "notes": list(self.notes),
            }
        )
        return document

    def __repr__(self) -> str:
        summary = self.summary
        return f"Result(scheduled={summary.scheduled}, pending={summary.pending}, seconds={summary.seconds:g})"
