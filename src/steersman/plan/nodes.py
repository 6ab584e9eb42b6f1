# SPDX-License-Identifier: Apache-2.0
"""`plan nodes`: how many nodes of which pool to add, and which can go, so that everything fits at the least cost.

The plan is found by a search and shown by the exact scheduler to leave nothing pending (`node_planning`). Beside its cost
stands a lower bound that an integer program proves (`pattern_bound`): no plan can cost less. The gap between the two says how
much a better plan could save at most.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final

from steersman import api
from steersman.errors import InputError
from steersman.plan.answer import OnEnd, Part, PlanAnswer
from steersman.plan.measures import Fractions, fractions, heat_maps
from steersman.plan.node_planning import NodePlan, NodePlanning
from steersman.plan.pattern_bound import NO_SOLVER
from steersman.report import BarChart, Cell, Figures, Section, Table
from steersman.sim import Simulation
from steersman.sim.node_costs import pool_of, price_of
from steersman.sim.node_pools import NodePools, PoolsSource, load_pools

TRIALS: Final = 100
"""Placements of all pods that the search tries, unless told otherwise: half a minute for 3,000 pods."""
INFEASIBLE: Final = "proven: within the limits of the pools no numbers of nodes have room for all pods"
CUT: Final = "the time limit ended the search: another run may find a cheaper plan"
LOST: Final = "{} would be preempted, and nobody makes it anew"


class PoolPlan(Part, frozen=True):
    """One pool in the plan."""

    pool: str
    existing: int
    add: int
    remove: int
    #: Nodes of the pool if the plan is carried out.
    nodes: int
    price_per_hour: float
    #: Of all these nodes, per hour.
    cost: float


class SearchEffort(Part, frozen=True):
    """The effort to find the plan and to prove the bound."""

    #: Placements of all pods by the scheduler's cycles, and full simulations.
    trials: int
    simulations: int
    #: Whether the time limit ended the search.
    is_cut: bool
    #: Patterns of pods on a node that the integer program was given, in so many rounds.
    patterns: int
    rounds: int


class NodesAnswer(PlanAnswer, frozen=True, kw_only=True):
    """How many nodes of which pool come and go, what that costs, and what no plan can cost less than."""

    KIND: ClassVar[str] = "Nodes"

    #: pool → nodes to add.
    add: dict[str, int]
    #: Names of nodes that can go.
    remove: list[str]
    #: Per hour, of the nodes that the plan decides about: new ones, and existing ones that could go and stay.
    cost: float
    #: No plan costs less; null without the solver.
    lower_bound: float | None
    #: (cost − lowerBound) / cost; null without a bound.
    gap: float | None
    #: Per hour, of all nodes of the cluster: as it is, and with the plan carried out.
    cost_before: float
    cost_after: float
    pools: list[PoolPlan]
    #: pod → why it stays pending although it fits on some node.
    pending: dict[str, str]
    #: pod → why it fits on no node, even alone: no plan helps it.
    unplaceable: dict[str, str]
    #: Pods that would be preempted, and that nobody makes anew.
    lost: list[str]
    #: Proven: the limits of the pools do not allow a plan for all pods.
    is_infeasible: bool = False
    search: SearchEffort
    #: resource → node → what is requested of it, 0 to 1: now, and with the plan.
    before: Fractions = {}
    after: Fractions = {}

    @property
    def is_met(self) -> bool:
        """Whether nothing stays pending."""
        return not (self.pending or self.unplaceable or self.lost)

    def sentence(self) -> str:
        steps = [f"add {_listed(self.add)}"] if self.add else []
        if self.remove:
            steps.append(f"remove {len(self.remove)} {_nodes(len(self.remove))}")
        text = f"{' and '.join(steps) or 'add nothing'}: {self.cost:g} per hour"
        if self.gap is not None:
            text += f", and no plan costs less than {self.lower_bound:g} (gap {self.gap:.1%})"
        left = len(self.pending) + len(self.unplaceable)
        return f"{text}; {left} pod{'s' * (left != 1)} stay{'s' * (left == 1)} pending" if left else text

    def rows(self) -> list[dict[str, Any]]:
        """A row per pool."""
        return [
            {
                "pool": pool.pool,
                "existing": pool.existing,
                "add": pool.add,
                "remove": pool.remove,
                "nodes": pool.nodes,
                "pricePerHour": pool.price_per_hour,
                "cost": pool.cost,
            }
            for pool in self.pools
        ]

    def question(self) -> str:
        return "How many nodes of which pool, so that everything fits at the least cost?"

    def sections(self) -> list[Section]:
        sections: list[Section] = [Figures("At a glance", self._figures())]
        rows = [tuple(row.values()) for row in self.rows()]
        sections.append(Table("Pools", ["pool", "now", "add", "remove", "nodes", "price", "cost"], rows))
        used = [pool for pool in self.pools if pool.nodes]
        if used:
            sections.append(BarChart("Cost by pool", [p.pool for p in used], {"per hour": [p.cost for p in used]}, ""))
        if self.remove:
            sections.append(Table("Nodes that can go", ["node"], [(name,) for name in self.remove]))
        if self.unplaceable:
            sections.append(Table("Pods that fit on no node", ["fits nowhere", "why"], list(self.unplaceable.items())))
        if self.pending:
            sections.append(Table("Pods that stay pending", ["pending", "why"], list(self.pending.items())))
        return [*sections, *heat_maps(self.before or self.after, self.after if self.before else {})]

    def _figures(self) -> dict[str, Cell]:
        figures: dict[str, Cell] = {"nodes to add": sum(self.add.values()), "cost per hour": self.cost}
        if self.remove:
            figures["nodes that can go"] = len(self.remove)
        if self.gap is not None:
            figures |= {"lower bound": self.lower_bound, "gap": f"{self.gap:.2%}"}
        return figures


def nodes(
    simulation: Simulation,
    pools: PoolsSource,
    *,
    remove: bool = False,
    trials: int = TRIALS,
    time_limit: float | None = None,
    on_end: OnEnd | None = None,
    on_nodes: Callable[[list[api.Node]], object] | None = None,
) -> NodesAnswer:
    """How many nodes of the pools to add to the cluster of the simulation, which stays as it is, so that all its pods fit.

    `pools` are a file or a document of kind NodePools. With `remove`, existing nodes of the pools may go too, if all pods on
    them would be made anew. The search ends after so many `trials`, or after `time_limit` seconds, which makes the answer
    depend on the machine. `on_end` gets the simulation with the plan carried out, `on_nodes` the new
    nodes. Raises `InputError`.
    """
    if trials < 1:
        raise InputError("is no number of trials", field="trials", value=trials, hint="use a whole number from 1 on")
    deadline = None if time_limit is None else time.monotonic() + time_limit
    loaded = load_pools(pools)
    planning = NodePlanning(
        simulation,
        loaded,
        removes=remove,
        most_trials=trials,
        is_late=lambda: deadline is not None and time.monotonic() > deadline,
    )
    found = planning.plan()
    if on_end is not None:
        on_end(found.run.simulation)
    if on_nodes is not None:
        on_nodes(found.new_nodes)
    return _answer(simulation, loaded, found)


def _answer(simulation: Simulation, pools: NodePools, found: NodePlan) -> NodesAnswer:
    before = simulation.cluster.objects(api.Node).values()
    gone = set(found.removed)
    after = [*(node for node in before if node.metadata.name not in gone), *found.new_nodes]
    bound = found.bound
    lower = None if bound.lower is None or bound.is_infeasible else round(bound.lower, 9)
    return NodesAnswer(
        add=found.counts,
        remove=found.removed,
        cost=found.cost,
        lower_bound=lower,
        gap=None if lower is None else _gap(found.cost, lower),
        cost_before=_cost(before, pools),
        cost_after=_cost(after, pools),
        pools=_pool_plans(before, after, gone, pools),
        pending=found.pending,
        unplaceable=found.unplaceable,
        lost=found.run.lost,
        is_infeasible=found.is_infeasible,
        search=SearchEffort(found.trials, found.full_runs, found.is_cut, bound.patterns, bound.rounds),
        before=fractions(simulation.result()),
        after=fractions(found.run.result),
        notes=tuple(_notes(found)),
    )


def _notes(found: NodePlan) -> Iterable[str]:
    if found.bound.lower is None:
        yield NO_SOLVER
    if found.is_infeasible:
        yield INFEASIBLE
    if found.is_cut:
        yield CUT
    if found.run.stopped:
        yield found.run.stopped
    yield from (LOST.format(pod) for pod in found.run.lost)
    yield from found.run.result.notes


def _pool_plans(
    before: Iterable[api.Node], after: Iterable[api.Node], gone: set[str], pools: NodePools
) -> list[PoolPlan]:
    now, then = Counter(map(pool_of, before)), Counter(map(pool_of, after))
    leaving = Counter(pool_of(node) for node in before if node.metadata.name in gone)
    costs: dict[str, list[api.Node]] = {}
    for node in after:
        costs.setdefault(pool_of(node), []).append(node)
    return [
        PoolPlan(
            pool=pool.name,
            existing=now[pool.name],
            add=then[pool.name] - now[pool.name] + leaving[pool.name],
            remove=leaving[pool.name],
            nodes=then[pool.name],
            price_per_hour=pool.price_per_hour,
            cost=_cost(costs.get(pool.name, ()), pools),
        )
        for pool in pools
    ]


def _cost(nodes: Iterable[api.Node], pools: NodePools) -> float:
    """By the price that a node names, or else by that of its pool."""
    prices: Mapping[str, float] = {pool.name: pool.price_per_hour for pool in pools}
    return round(sum(price_of(node) or prices.get(pool_of(node), 0.0) for node in nodes), 6)


def _gap(cost: float, lower: float) -> float:
    return round(max(0.0, cost - lower) / cost, 6) if cost else 0.0


def _listed(add: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {pool}" for pool, count in add.items())


def _nodes(count: int) -> str:
    return "node" if count == 1 else "nodes"
