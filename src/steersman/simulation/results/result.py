# SPDX-License-Identifier: Apache-2.0
"""The result of a run: placements, pending pods, utilisation, events, and explanations on request.

Made by `Simulation.run`; a picture of that moment, which later runs do not change. A result can be pickled: explanations that
were recorded travel with it, the simulation that others would be made with stays behind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from os import PathLike
from typing import Any, Final

import msgspec

from steersman.base import InputError
from steersman.scheduler.diagnosis import Explanation
from steersman.simulation.inputs.object_names import pod_key
from steersman.simulation.results.frames import result_table
from steersman.simulation.results.placements import NamespaceSummary, Placement, jain_index, summaries
from steersman.simulation.results.series import Series
from steersman.simulation.results.utilisation import Utilisation
from steersman.simulation.virtual_time.tasks import SimulationError
from steersman.simulation.virtual_time.writer import Event, Preemption

NO_SERIES: Final = Series((), ())
LEFT_BEHIND: Final = "cannot be explained by a result that was pickled; name the pod in run(explain=…)"


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
    """The outcome of a simulation up to now. Pods are named `namespace/name`; the order is that of the input."""

    def __init__(
        self,
        placements: Mapping[str, Placement],
        utilisation: Utilisation,
        preempted: tuple[Preemption, ...],
        events: tuple[Event, ...],
        notes: tuple[str, ...],
        decisions: int,
        seconds: float,
        explain: Callable[[str], Explanation] | None,
        explanations: Mapping[str, Explanation],
        stopped: str = "",
        series: Series = NO_SERIES,
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
        #: Why the run was stopped before it came to rest; "" if it came to rest, or to its deadline.
        self.stopped = stopped
        #: Utilisation, pending pods, waiting times and more over time.
        self.series = series
        self._explain = explain
        #: Those that were recorded during the run, by pod.
        self._explanations = explanations

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

    @cached_property
    def by_namespace(self) -> Mapping[str, NamespaceSummary]:
        """Waiting times, slowdown and resources of the pods in `placements`, by namespace."""
        return summaries(self.placements.values(), self._seconds)

    @property
    def makespan(self) -> float:
        """Seconds from the creation of the first pod in `placements` to the end of the last one that finished."""
        ends = [each.finished for each in self.placements.values() if each.finished is not None]
        return round(max(ends) - min(each.created for each in self.placements.values()), 6) if ends else 0.0

    def jain_index(self, column: str = "served") -> float:
        """Return Jain's fairness index of a number of `by_namespace`: 1 if it is equal for all namespaces."""
        values = [getattr(each, column, None) for each in self.by_namespace.values()]
        if any(isinstance(value, str) or (value is None and column != "slowdown_mean") for value in values):
            known = ", ".join(NamespaceSummary.__struct_fields__[1:])
            raise InputError("is no number of a namespace", value=column, hint=f"use one of {known}")
        return jain_index([value for value in values if value is not None])

    def explain(self, pod: str) -> Explanation:
        """Every node × plugin for one pod: of the cycle that placed it, or, if it is pending, of the end of the run.

        For a placed pod that was not named in `run(explain=…)` the simulation is run again, which gives the same result.
        Raises `InputError` for a pod that is not among the placements.
        """
        if self._explain is not None:
            return self._explain(pod)
        key = pod_key(pod)
        if key in self._explanations:
            return self._explanations[key]
        if key not in self.placements:
            raise InputError("is not among the placements", object=f"Pod {key}")
        raise SimulationError(f"pod {key} {LEFT_BEHIND}")

    def to_dict(self) -> dict[str, Any]:
        """For programs: plain lists, dicts and values."""
        document: dict[str, Any] = msgspec.to_builtins(
            {
                "summary": self.summary,
                "placements": list(self.placements.values()),
                "preempted": list(self.preempted),
                "namespaces": list(self.by_namespace.values()),
                "utilisation": self.utilisation,
                "notes": list(self.notes),
                **({"stopped": self.stopped} if self.stopped else {}),
            }
        )
        return document

    def to_frame(self, table: str = "placements", library: str | None = None) -> Any:
        """A data frame of one of `placements`, `namespaces`, `utilisation` (a row per node and resource), `events`,
        `preempted` and `series` (a row per moment and value).

        Of pandas or polars, whichever is installed; `library` chooses one, or `pyarrow`. Raises `SteersmanError` without.
        """
        return result_table(self, table).to_frame(library)

    def to_csv(self, path: str | PathLike[str] | None = None, table: str = "placements") -> str:
        """A table of `to_frame` as CSV: the text, which is also written to the path if there is one. Raises `InputError`."""
        return result_table(self, table).to_csv(path)

    def to_parquet(self, path: str | PathLike[str], table: str = "placements") -> None:
        """Writes one of the same tables as a Parquet file; needs `steersman[frames]`. Raises `InputError`."""
        result_table(self, table).to_parquet(path)

    def _repr_html_(self) -> str:
        from steersman.simulation.results.notebook import result_html

        return result_html(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_explain": None}

    def __copy__(self) -> Result:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Result:
        """Nothing of a result changes: it is its own copy."""
        return self

    def __repr__(self) -> str:
        summary = self.summary
        stopped = ", stopped early" if self.stopped else ""
        return f"Result(scheduled={summary.scheduled}, pending={summary.pending}, seconds={summary.seconds:g}{stopped})"
