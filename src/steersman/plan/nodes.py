# SPDX-License-Identifier: Apache-2.0
"""`plan nodes`: nodes to add by pool, and to remove, so that everything fits at the least cost.

The plan is found by a search and verified by the scheduler to leave nothing pending
(`node_planning`). An integer program proves a lower bound of the cost of all plans
(`pattern_bound`). The gap between both is the most that a better plan could save.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Final

import msgspec

from steersman import api
from steersman.base import InputError, SteersmanError, counted
from steersman.base.report import BarChart, Cell, Figures, Section, Table
from steersman.plan import pattern_bound
from steersman.plan.answer import OnEnd, Part, PlanAnswer, grouped
from steersman.plan.measures import Fractions, fractions, heat_maps
from steersman.plan.node_planning import INTERRUPTED, NodePlan, NodePlanning
from steersman.plan.pattern_bound import NO_SOLVER
from steersman.plan.time_limit import TimeLimit
from steersman.simulation import NodePools, PoolsSource, Simulation, load_pools, pool_of, price_of

TRIALS: Final = 100
"""Default number of trials, each a placement of all pods: half a minute for 3,000 pods."""
INFEASIBLE: Final = "proven: within the limits of the pools no numbers of nodes have room for all pods"
NOT_IN_TIME: Final = "no time is left to search for a plan; give more time, or fewer pods or nodes"
ABOVE_MAX: Final = "pool {}: {} above its max stay; {}"
LOST: Final = "{} would be preempted, and no controller recreates it"


class NoPlanInTime(SteersmanError):
    """Raised when no time is left before the search begins."""


class PoolPlan(Part, frozen=True):
    """One pool in the plan."""

    pool: str
    existing: int
    add: int
    remove: int
    #: Nodes of the pool after the plan.
    nodes: int
    price_per_hour: float
    #: Cost of all these nodes per hour.
    cost: float


class SearchEffort(Part, frozen=True):
    """The effort to find the plan and to prove the bound."""

    #: Numbers of trials (placements of all pods), and of full simulations.
    trials: int
    simulations: int
    #: Whether the time limit ended the search.
    is_cut: bool
    #: Numbers of patterns of the integer program, and of rounds that added them.
    patterns: int
    rounds: int


class NodesAnswer(PlanAnswer, frozen=True, kw_only=True):
    """Nodes to add and remove by pool, the cost of the plan, and a lower bound for the cost of all
    plans."""

    KIND: ClassVar[str] = "Nodes"

    #: pool → nodes to add.
    add: dict[str, int]
    #: Names of removable nodes.
    remove: list[str]
    #: Cost per hour of new nodes and of removable nodes that stay.
    cost: float
    #: No plan costs less; null without the solver.
    lower_bound: float | None
    #: (cost − lowerBound) / cost; null without a bound.
    gap: float | None
    #: Cost per hour of all nodes of the cluster, before and after the plan.
    cost_before: float
    cost_after: float
    pools: list[PoolPlan]
    #: pod that fits on some node → reason why it stays pending.
    pending: dict[str, str]
    #: pod that fits on no node even alone, so that no plan helps → reason.
    unplaceable: dict[str, str]
    #: Pods that would be preempted and not recreated.
    lost: list[str]
    #: Whether the limits of the pools provably allow no plan for all pods.
    is_infeasible: bool = False
    search: SearchEffort
    #: resource → node → requested share, 0 to 1: now, and with the plan.
    before: Fractions = {}
    after: Fractions = {}

    @property
    def is_met(self) -> bool:
        """Whether nothing stays pending."""
        return not (self.pending or self.unplaceable or self.lost)

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return INTERRUPTED in self.notes

    def sentence(self) -> str:
        steps = [f"add {_listed(self.add)}"] if self.add else []
        if self.remove:
            steps.append(f"remove {counted(len(self.remove), 'node')}")
        text = f"{' and '.join(steps) or 'add nothing'}: {self.cost:g} per hour"
        if self.gap is not None:
            text += f", and no plan costs less than {self.lower_bound:g} (gap {self.gap:.1%})"
        left = len(self.pending) + len(self.unplaceable)
        return f"{text}; {left} pod{'s' * (left != 1)} stay{'s' * (left == 1)} pending" if left else text

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per pool."""
        return [msgspec.to_builtins(pool) for pool in self.pools]

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
            sections.append(Table("Pods that fit on no node", ["fits nowhere", "why"], grouped(self.unplaceable)))
        if self.pending:
            sections.append(Table("Pods that stay pending", ["pending", "why"], grouped(self.pending)))
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
    on_progress: Callable[[float, float | None], object] = lambda share, cost: None,
) -> NodesAnswer:
    """Return the nodes to add to the simulated cluster, which is not changed, so that its pods fit.

    `pools` is a file or a document of kind NodePools. `remove` allows removing existing nodes of
    the pools whose pods would all be recreated. After a first verified plan, the search ends after
    `trials` trials, after `time_limit` seconds (then machine-dependent), or on Ctrl-C, with the
    best plan so far. `on_end` gets the simulation with the plan, `on_nodes` the new nodes,
    `on_progress` the used share of trials and the best cost. Raises `InputError`; `NoPlanInTime`
    without time.
    """
    if trials < 1:
        raise InputError("is not a number of trials", field="trials", value=trials, hint="use a whole number from 1 on")
    limit = TimeLimit(time_limit)
    if limit.is_over():
        raise NoPlanInTime(NOT_IN_TIME)
    loaded = load_pools(pools)
    found = NodePlanning(
        simulation, loaded, removes=remove, most_trials=trials, limit=limit, on_progress=on_progress
    ).plan()
    if on_end is not None:
        on_end(found.run.simulation)
    if on_nodes is not None:
        on_nodes(found.new_nodes)
    return _answer(simulation, loaded, found, remove)


def _answer(simulation: Simulation, pools: NodePools, found: NodePlan, removes: bool) -> NodesAnswer:
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
        search=SearchEffort(found.trials, found.full_runs, bool(found.cut_by), bound.patterns, bound.rounds),
        before=fractions(simulation.result()),
        after=fractions(found.run.result),
        notes=tuple(_notes(found, removes)),
    )


def _notes(found: NodePlan, removes: bool) -> Iterable[str]:
    if not pattern_bound.is_available():
        yield NO_SOLVER
    if found.is_infeasible:
        yield INFEASIBLE
    if found.cut_by:
        yield found.cut_by
    for pool, count in found.above_max.items():
        why = "pods on them have no other place" if removes else "--remove lets them go"
        yield ABOVE_MAX.format(pool, counted(count, "node"), why)
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
    """Return the cost by the nodes' own prices, or else those of their pools."""
    prices: Mapping[str, float] = {pool.name: pool.price_per_hour for pool in pools}
    return round(sum(price_of(node) or prices.get(pool_of(node), 0.0) for node in nodes), 6)


def _gap(cost: float, lower: float) -> float:
    return round(max(0.0, cost - lower) / cost, 6) if cost else 0.0


def _listed(add: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {pool}" for pool, count in add.items())
