# SPDX-License-Identifier: Apache-2.0
"""Measures of a finished simulation for comparisons: placements, packing, waiting times, cost; and
requested shares per node, for the heat maps of reports.

Waiting times and fragmentation are the last values of `result.series`, which has their definitions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from steersman import api
from steersman.base.report import HeatMap
from steersman.cluster.controllers import controller_of
from steersman.simulation import Result, Simulation, Usage, is_daemon, price_of

Fractions: TypeAlias = dict[str, dict[str, float]]
"""resource → node → requested share, from 0 to 1."""
SHOWN: Final = ("cpu", "memory", "pods")


class Measures(msgspec.Struct, frozen=True, rename="camel"):
    """The numbers of one run. Nodes are in use if a pod is on them that is not of a DaemonSet."""

    #: Pods on nodes at the end.
    scheduled: int
    pending: int
    preempted: int
    #: Nodes in use.
    nodes_used: int
    #: Requested share of the nodes in use, from 0 to 1.
    packing_cpu: float
    packing_memory: float
    #: Share of allocatable that is free where no pending pod fits, 0 to 1; 0 without pending pods.
    fragmentation_cpu: float
    fragmentation_memory: float
    #: Percentiles 50 and 99 of the pods' waiting times in virtual seconds.
    wait_p50: float
    wait_p99: float
    #: Cost of the nodes in use per hour.
    cost: float


Places = Mapping[tuple[str, str], int]
"""Number of pods by (controller, or pod without one; node)."""


def measure(simulation: Simulation, result: Result) -> Measures:
    nodes, pods = simulation.cluster.objects(api.Node), _present(simulation)
    used = {pod.spec.node_name for pod in pods if pod.spec.node_name in nodes and not is_daemon(pod)}
    usages = result.utilisation.nodes
    series = result.series
    return Measures(
        scheduled=sum(pod.spec.node_name in nodes for pod in pods),
        pending=len(result.pending),
        preempted=len(result.preempted),
        nodes_used=len(used),
        packing_cpu=_packing("cpu", (usages[name] for name in used)),
        packing_memory=_packing("memory", (usages[name] for name in used)),
        fragmentation_cpu=_last(series.fragmentation.get("cpu", ())),
        fragmentation_memory=_last(series.fragmentation.get("memory", ())),
        wait_p50=_last(series.waiting.p50),
        wait_p99=_last(series.waiting.p99),
        cost=round(sum(price_of(nodes[name]) for name in sorted(used)), 6),
    )


def places(simulation: Simulation) -> Places:
    """Return the pods' places by controller, which are comparable between runs unlike pod names."""
    found: Counter[tuple[str, str]] = Counter()
    for pod in _present(simulation):
        owner = controller_of(pod)
        found[(api.key(pod) if owner is None else f"{owner.kind} {owner.name}", pod.spec.node_name)] += 1
    return found


def moved_between(one: Places, other: Places) -> int:
    """Return the number of pods of the second on another node than in the first."""
    return sum(max(0, count - one.get(place, 0)) for place, count in other.items() if place[1])


def _present(simulation: Simulation) -> list[api.Pod]:
    pods = simulation.cluster.objects(api.Pod).values()
    return [pod for pod in pods if pod.status.phase not in api.FINISHED_PHASES]


def _last(values: Sequence[float]) -> float:
    """Return the value at the end of the run; 0 without values."""
    return round(values[-1], 6) if values else 0.0


def _packing(resource: str, nodes: Iterable[Mapping[str, Usage]]) -> float:
    offered = [usages[resource] for usages in nodes if resource in usages]
    total = sum(usage.allocatable for usage in offered)
    return round(sum(usage.requested for usage in offered) / total, 6) if total else 0.0


# -- how full nodes are -------------------------------------------------------------------------------------------------


def fractions(result: Result) -> Fractions:
    """Return the requested share of each node, by resource."""
    nodes = result.utilisation.nodes
    return {
        name: {node: round(usages[name].fraction, 4) for node, usages in nodes.items() if name in usages}
        for name in SHOWN
        if any(name in usages for usages in nodes.values())
    }


def heat_maps(before: Fractions, after: Fractions) -> Iterator[HeatMap]:
    """Return a heat map per resource."""
    return (HeatMap(f"{name} requested", before[name], after.get(name, {})) for name in before)
