# SPDX-License-Identifier: Apache-2.0
"""The difference between two simulations or results: `diff(before, after)`.

    with sim.fork() as trial:
        trial.delete("node/n1").run()
        print(steersman.diff(sim, trial).moved)

Simulations are compared by all their pods, results by the pods that arrived without a node. Pods
are matched by name: the replacement of a Deployment's pod is another pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from steersman import api
from steersman.base import PlainStruct
from steersman.simulation.results.result import Result
from steersman.simulation.simulation import Simulation


class NumberChange(msgspec.Struct, frozen=True):
    """A number before and after."""

    before: float
    after: float


class Difference(PlainStruct, frozen=True, rename="camel"):
    """All relevant differences. Pods are named `namespace/name`."""

    #: Moved pod → (old node, new node).
    moved: Mapping[str, tuple[str, str]]
    #: Pending pod that had a node or is new → reason.
    newly_pending: Mapping[str, str]
    #: Formerly pending pod → its node.
    freed: Mapping[str, str]
    #: Deleted or preempted pod → its former node.
    evicted: Mapping[str, str]
    #: New pod → its node.
    added: Mapping[str, str]
    #: Resource → requested share of the allocatable amount of all nodes.
    utilisation: Mapping[str, NumberChange]
    #: Cost of all nodes per hour.
    cost: NumberChange

    @property
    def is_empty(self) -> bool:
        """Whether no pod has moved."""
        return not (self.moved or self.newly_pending or self.freed or self.evicted or self.added)


class _Pods(NamedTuple):
    """One side of the comparison: nodes of placed pods, reasons of pending ones."""

    placed: Mapping[str, str]
    pending: Mapping[str, str]


def diff(before: Simulation | Result, after: Simulation | Result) -> Difference:
    """Return the difference of `after` to `before`, two simulations or two results."""
    if isinstance(before, Simulation) and isinstance(after, Simulation):
        old, new = _in_cluster(before), _in_cluster(after)
    else:
        old, new = _in_placements(_result(before)), _in_placements(_result(after))
    was, now = _result(before), _result(after)
    common = old.placed.keys() & new.placed.keys()
    known = old.placed.keys() | old.pending.keys()
    gone = [pod for pod in old.placed if pod not in new.placed and pod not in new.pending]
    return Difference(
        moved={
            pod: (old.placed[pod], new.placed[pod]) for pod in old.placed if pod in common and _moved(pod, old, new)
        },
        newly_pending={pod: why for pod, why in new.pending.items() if pod not in old.pending},
        freed={pod: node for pod, node in new.placed.items() if pod in old.pending},
        evicted={pod: old.placed[pod] for pod in gone},
        added={pod: node for pod, node in new.placed.items() if pod not in known},
        utilisation={
            name: NumberChange(_fraction(was, name), _fraction(now, name))
            for name in {**was.utilisation.cluster, **now.utilisation.cluster}
        },
        cost=NumberChange(_cost(was), _cost(now)),
    )


def _moved(pod: str, old: _Pods, new: _Pods) -> bool:
    return old.placed[pod] != new.placed[pod]


def _result(side: Simulation | Result) -> Result:
    return side.result() if isinstance(side, Simulation) else side


def _in_cluster(simulation: Simulation) -> _Pods:
    placements = simulation.result().pending
    placed: dict[str, str] = {}
    pending: dict[str, str] = {}
    for key, pod in simulation.cluster.objects(api.Pod).items():
        if pod.status.phase in api.FINISHED_PHASES:
            continue
        if pod.spec.node_name and key not in placements:
            placed[key] = pod.spec.node_name
        else:
            pending[key] = placements[key].message if key in placements else ""
    return _Pods(placed, pending)


def _in_placements(result: Result) -> _Pods:
    placements = result.placements.values()
    return _Pods(
        {placement.pod: placement.node for placement in placements if not placement.is_pending},
        {placement.pod: placement.message for placement in placements if placement.is_pending},
    )


def _fraction(result: Result, resource: str) -> float:
    usage = result.utilisation.cluster.get(resource)
    return 0.0 if usage is None else usage.fraction


def _cost(result: Result) -> float:
    return result.series.cost[-1] if len(result.series) else 0.0
