# SPDX-License-Identifier: Apache-2.0
"""The result of a run: placements, pending pods, utilisation, events, and explanations on request.

Made by `Simulation.run`; a snapshot that later runs do not change. A result can be pickled with its
recorded explanations, but without the simulation that makes others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from os import PathLike
from types import MappingProxyType
from typing import Any, Final

import msgspec

from steersman.base import InputError
from steersman.scheduler.diagnosis import Explanation
from steersman.simulation.inputs.object_names import pod_key
from steersman.simulation.results.frames import result_table
from steersman.simulation.results.groups import GroupResult
from steersman.simulation.results.placements import NamespaceSummary, Placement, jain_index, summaries
from steersman.simulation.results.series import Series
from steersman.simulation.results.utilisation import Utilisation
from steersman.simulation.virtual_time.tasks import SimulationError
from steersman.simulation.virtual_time.writer import Event, Preemption

NO_SERIES: Final = Series((), ())
NO_GROUPS: Final[Mapping[str, GroupResult]] = MappingProxyType({})
LEFT_BEHIND: Final = "cannot be explained by a result that was pickled; name the pod in run(explain=…)"


class Summary(msgspec.Struct, frozen=True):
    """Numbers about the run."""

    nodes: int
    #: Pods that came without a node and still exist.
    pods: int
    scheduled: int
    pending: int
    preempted: int
    #: Number of scheduling attempts.
    decisions: int
    #: Virtual time since the start.
    seconds: float


class Result:
    """Outcome of a simulation so far. Pods are named `namespace/name`, in input order."""

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
        groups: Mapping[str, GroupResult] = NO_GROUPS,
    ) -> None:
        #: Placement of every pod added without a node, or why it is pending.
        self.placements = placements
        self.utilisation = utilisation
        #: Preempted pods.
        self.preempted = preempted
        #: Events of the scheduler about pods.
        self.events = events
        #: Notes about the input, one line each.
        self.notes = notes
        self._decisions = decisions
        self._seconds = seconds
        #: Why the run was stopped early; "" if nothing was left to do or the deadline was reached.
        self.stopped = stopped
        #: Utilisation, pending pods, waiting times and more over time.
        self.series = series
        #: Pod groups by `namespace/name`; empty unless groups are scheduled.
        self.groups = groups
        self._explain = explain
        #: Recorded explanations by pod.
        self._explanations = explanations

    @cached_property
    def pending(self) -> Mapping[str, Placement]:
        """Return the placements of pods that are not bound."""
        return {key: placement for key, placement in self.placements.items() if placement.is_pending}

    @cached_property
    def failed(self) -> Mapping[str, Placement]:
        """Return the pending pods whose attempt failed with an error, such as an exception of a
        plugin."""
        return {key: placement for key, placement in self.pending.items() if placement.is_error}

    @cached_property
    def summary(self) -> Summary:
        return Summary(
            nodes=self.utilisation.node_count,
            pods=len(self.placements),
            scheduled=len(self.placements) - len(self.pending),
            pending=len(self.pending),
            preempted=len(self.preempted),
            decisions=self._decisions,
            seconds=self._seconds,
        )

    @cached_property
    def by_namespace(self) -> Mapping[str, NamespaceSummary]:
        """Return waiting times, slowdown and resources of the pods in `placements`, by
        namespace."""
        return summaries(self.placements.values(), self._seconds)

    @property
    def makespan(self) -> float:
        """Return the seconds from the creation of the first pod in `placements` to the end of the
        last finished one."""
        ends = [each.finished for each in self.placements.values() if each.finished is not None]
        return round(max(ends) - min(each.created for each in self.placements.values()), 6) if ends else 0.0

    def jain_index(self, column: str = "served") -> float:
        """Return Jain's fairness index of a number of `by_namespace`: 1 if it is equal for all
        namespaces."""
        values = [getattr(each, column, None) for each in self.by_namespace.values()]
        if any(isinstance(value, str) or (value is None and column != "slowdown_mean") for value in values):
            known = ", ".join(NamespaceSummary.__struct_fields__[1:])
            raise InputError("is not a number of a namespace", value=column, hint=f"use one of {known}")
        return jain_index([value for value in values if value is not None])

    def explain(self, pod: str) -> Explanation:
        """Return the verdict of every plugin on every node for one pod: in the cycle that placed
        it, or, if it is pending, at the end of the run.

        For a placed pod that was not named in `run(explain=…)` the simulation is repeated with the
        same result. Raises `InputError` for a pod that is not among the placements.
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
        """Return the result as plain lists, dicts and values."""
        document: dict[str, Any] = msgspec.to_builtins(
            {
                "summary": self.summary,
                "placements": list(self.placements.values()),
                **({"groups": list(self.groups.values())} if self.groups else {}),
                "preempted": list(self.preempted),
                "namespaces": list(self.by_namespace.values()),
                "utilisation": self.utilisation.to_dict(),
                "notes": list(self.notes),
                **({"stopped": self.stopped} if self.stopped else {}),
            }
        )
        return document

    def to_frame(self, table: str = "placements", library: str | None = None) -> Any:
        """Return a data frame of one of `placements`, `namespaces`, `utilisation` (a row per node
        and resource), `events`, `preempted` and `series` (a row per moment and value).

        Uses pandas or polars, whichever is installed; `library` chooses one, or `pyarrow`. Raises
        `SteersmanError` if none is installed.
        """
        return result_table(self, table).to_frame(library)

    def to_csv(self, path: str | PathLike[str] | None = None, table: str = "placements") -> str:
        """Return a table of `to_frame` as CSV text; also write it to the path, if given. Raises
        `InputError`."""
        return result_table(self, table).to_csv(path)

    def to_parquet(self, path: str | PathLike[str], table: str = "placements") -> None:
        """Write one of these tables as a Parquet file; needs `steersman[frames]`. Raises
        `InputError`."""
        result_table(self, table).to_parquet(path)

    def _repr_html_(self) -> str:
        from steersman.simulation.results.notebook import result_html

        return result_html(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_explain": None}

    def __copy__(self) -> Result:
        return self

    def __deepcopy__(self, _: dict[int, Any]) -> Result:
        """Return the result itself, which never changes."""
        return self

    def __repr__(self) -> str:
        summary = self.summary
        stopped = ", stopped early" if self.stopped else ""
        return f"Result(scheduled={summary.scheduled}, pending={summary.pending}, seconds={summary.seconds:g}{stopped})"
