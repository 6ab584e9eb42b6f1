# SPDX-License-Identifier: Apache-2.0
"""How `plan nodes` comes to its answer: from a simulation and pools to verified numbers of nodes, and the bound beside them.

    probe ─► packing ─► bound, fractions of nodes ─► full run ─► trials: repair, shrink, swap ─► full run: nothing pending?
                                                        └─► packing of the pods of that run ─► bound of the answer

Only a full run of the simulation, with the nodes there from its first moment, makes a plan. Pods of the promise are those
that fit some node at all; which do not is known from the packing, or found out when no number of nodes helps them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.framework.pod_info import controller_of
from steersman.plan.node_search import Counts, PoolSizeSearch, rounded_down, scaled_up, sum_of
from steersman.plan.packing import Packing, greedy_counts
from steersman.plan.packing_model import PackingModel, StandingNode, TemplateKey, packing_model, template_key
from steersman.plan.pattern_bound import Bound, pattern_bound
from steersman.sim import Simulation
from steersman.sim.node_costs import pool_of, price_of
from steersman.sim.node_pools import ZONE_LABEL, NodePools
from steersman.sim.node_probe import NodeProbe
from steersman.sim.node_trials import FullRun, NodeTrials

PROBE_NUMBER: Final = 1_000_000
"""Nodes of the probe are numbered from here on: their names are nobody else's."""
HEADROOM: Final = 0.03
"""The scheduler spreads pods and leaves gaps: a search starts with so much more than a perfect packing has."""
MOST_ROUNDS: Final = 8
"""Full runs until nothing is pending: pods that come late, as those of an ordered StatefulSet, come in a later round."""
MOST_VERIFICATIONS: Final = 5
MOST_REMOVALS: Final = 40
"""Full runs in which existing nodes are taken away."""
SLOWER: Final = 5
"""Where there are no trials, so many times fewer full runs take their place."""
NEVER: Final = "Never"
NOBODY: Final = frozenset[str]()


class NodePlan(msgspec.Struct, frozen=True):
    """Numbers of nodes that a full run has shown to do, and what is known about cheaper ones."""

    counts: Counts
    new_nodes: list[api.Node]
    removed: list[str]
    run: FullRun
    bound: Bound
    #: Proven: the limits of the pools leave no plan for all pods.
    is_infeasible: bool
    #: Of the new nodes, and of those that could have gone and stay.
    cost: float
    #: pod → why it waits; pods that fit nowhere even alone are apart.
    pending: dict[str, str]
    unplaceable: dict[str, str]
    trials: int
    full_runs: int
    is_cut: bool


class _Fit(msgspec.Struct, frozen=True):
    """Numbers of nodes, the full run that has tried them, and the search that goes on from there."""

    counts: Counts
    run: FullRun
    model: PackingModel
    search: PoolSizeSearch


class NodePlanning:
    """One question: a simulation, which stays as it is, and pools."""

    def __init__(
        self, simulation: Simulation, pools: NodePools, *, removes: bool, most_trials: int, is_late: Callable[[], bool]
    ) -> None:
        self._simulation = simulation
        self._pools = pools
        self._most_trials = most_trials
        self._is_late = is_late
        self._nodes: dict[str, api.Node] = dict(simulation.cluster.objects(api.Node))
        self._bound_pods = {key: pod for key, pod in simulation.cluster.objects(api.Pod).items() if pod.spec.node_name}
        self._existing = Counter(pool_of(node) for node in self._nodes.values())
        self._removable = frozenset(self._removable_nodes() if removes else ())
        self._probe = NodeProbe(simulation, self._probe_nodes())
        self._standing = {info.name: info for info in self._probe.existing_nodes()}
        self._full_runs = 0
        self._known_bounds: list[tuple[Packing, Bound]] = []

    def plan(self) -> NodePlan:
        """The cheapest verified plan that the search finds."""
        waiting = [info.pod for info in self._probe.waiting if not self._is_daemon(info.pod)]
        packing = self._model(waiting, self._bound_pods.values()).packing
        start: Mapping[str, float] = self._bound(packing).counts or _packed_by_hand(packing)
        first = self._first_fit(packing.clamped(scaled_up(start, HEADROOM)))
        if first.search.given_up and not self._is_late():
            first = self._better(first, self._first_fit(packing.clamped(_most_nodes(packing, first.counts))))
        fit = self._cheaper(first, rounded_down(start))
        removed = self._removed(fit) if self._removable else []
        run = self._run(fit.counts, removed) if removed else fit.run
        return self._answer(fit, run, removed)

    # -- nodes -------------------------------------------------------------------------------------------------------

    def _new_nodes(self, counts: Mapping[str, int]) -> list[api.Node]:
        """The nodes of a plan, with names that are not taken; zones go on with the turn after the existing nodes."""
        return [
            node
            for pool in self._pools
            for node in pool.make_nodes(counts.get(pool.name, 0), self._nodes, self._existing[pool.name])
        ]

    def _probe_nodes(self) -> list[api.Node]:
        return [
            pool.make_node(PROBE_NUMBER + turn, zone)
            for pool in self._pools
            for turn, zone in enumerate(pool.zones or (None,))
        ]

    def _probe_of(self, node: api.Node) -> str:
        """The node of the probe that is like the node: of its pool, in its zone."""
        pool = self._pools[pool_of(node)]
        turn = pool.zones.index(node.metadata.labels[ZONE_LABEL]) if pool.zones else 0
        return pool.node_name(PROBE_NUMBER + turn)

    def _removable_nodes(self) -> Iterator[str]:
        """Nodes of the pools on which nothing stands that nobody would make anew."""
        holding = {pod.spec.node_name for pod in self._bound_pods.values() if controller_of(pod) is None}
        return (name for name, node in self._nodes.items() if pool_of(node) in self._pools and name not in holding)

    # -- packings and bounds -----------------------------------------------------------------------------------------

    def _model(
        self, pods: Sequence[api.Pod], others: Iterable[api.Pod], removable: frozenset[str] = NOBODY
    ) -> PackingModel:
        """The packing of pods that need a place, beside others that are on existing nodes. Of these, a pod needs a place too
        if its node may go, or if it may be preempted and made anew."""
        highest = max((pod.spec.priority or 0 for pod in pods if pod.spec.preemption_policy != NEVER), default=0)
        standing: dict[str, list[api.Pod]] = {}
        moving: list[api.Pod] = []
        for pod in others:
            is_safe = controller_of(pod) is None or (pod.spec.priority or 0) >= highest
            if self._is_daemon(pod) or (is_safe and pod.spec.node_name not in removable):
                standing.setdefault(pod.spec.node_name, []).append(pod)
            else:
                moving.append(pod)
        nodes = [
            StandingNode(node, tuple(standing.get(name, ())), name in removable) for name, node in self._nodes.items()
        ]
        return packing_model(self._probe, self._pools, [*pods, *moving], nodes)

    def _model_of(
        self, run: FullRun, given_up: Mapping[TemplateKey, int], removable: frozenset[str] = NOBODY
    ) -> PackingModel:
        """The packing of the pods at the end of a full run, without those that are given up."""
        needy, others = list[api.Pod](), list[api.Pod]()
        for key, pod in run.pods().items():
            was = self._bound_pods.get(key)
            stays = was is not None and was.metadata.uid == pod.metadata.uid
            if pod.spec.node_name in self._nodes and (stays or self._is_daemon(pod)):
                others.append(pod)
            elif not self._is_daemon(pod) and template_key(self._probe.info(pod)) not in given_up:
                needy.append(pod)
        return self._model(needy, others, removable)

    def _is_daemon(self, pod: api.Pod) -> bool:
        """Whether the pod belongs to its node: of a DaemonSet, static, or pinned otherwise."""
        owner = controller_of(pod)
        return (owner is not None and owner[1] in ("DaemonSet", "Node")) or bool(self._probe.info(pod).pinned_to)

    def _bound(self, packing: Packing) -> Bound:
        for known, bound in self._known_bounds:
            if known == packing:
                return bound
        bound = pattern_bound(packing)
        self._known_bounds.append((packing, bound))
        return bound

    # -- searching ---------------------------------------------------------------------------------------------------

    def _run(self, counts: Mapping[str, int], removed: Iterable[str] = ()) -> FullRun:
        self._full_runs += 1
        return FullRun(self._simulation, self._new_nodes(counts), removed)

    def _first_fit(self, counts: Counts) -> _Fit:
        """More nodes until nothing is pending, but for pods that no number of nodes helps."""
        given_up: dict[TemplateKey, int] = {}
        for left in range(MOST_ROUNDS, 0, -1):
            run = self._run(counts)
            fit = self._fit(counts, run, given_up)
            excess = fit.search.excess(self._by_class(fit.model, fit.counts, run))
            if not (excess or run.lost) or left == 1:
                break
            more = fit.search.repair(counts)
            if more == counts and not fit.search.given_up:  # trials have room where the full run has none
                more = sum_of(counts, greedy_counts(fit.model.packing, excess, counts))
            given_up.update(_by_template(fit.model, fit.search.given_up))
            if more == counts:
                break
            counts = more
        return fit

    def _better(self, one: _Fit, other: _Fit) -> _Fit:
        """The one that leaves fewer pods pending."""
        return other if len(other.run.pending) < len(one.run.pending) else one

    def _fit(self, counts: Counts, run: FullRun, given_up: Mapping[TemplateKey, int]) -> _Fit:
        """A search over nodes for the pods of a full run: by trials, or by full runs where there can be none."""
        model = self._model_of(run, {})
        new = {node.metadata.name for node in self._new_nodes(counts)}
        classes = {key: self._number_of(model, pod) for key, pod in run.pods().items()}

        def is_left_out(pod: api.Pod) -> bool:
            return classes[api.key(pod)] is None and api.key(pod) in run.pending

        trials = NodeTrials.made_of(self._simulation, run, new, is_left_out)

        def pending(numbers: Counts, most: int | None) -> Counter[int]:
            if trials is None:
                return self._by_class(model, numbers, self._run(numbers))
            nodes = self._new_nodes(numbers)
            daemons = [[info.pod for info in self._probe.empty_nodes[self._probe_of(node)].pods] for node in nodes]
            pools = {f"node/{node.metadata.name}": pool_of(node) for node in nodes}
            keys = trials.pending(nodes, daemons, most)
            found = (model.packing.daemon_class(pools[key]) if key in pools else classes[key] for key in keys)
            return Counter(number for number in found if number is not None)

        most_trials = self._most_trials if trials is not None else max(1, self._most_trials // SLOWER)
        search = PoolSizeSearch(model.packing, pending, most_trials, self._is_late)
        search.given_up.update({model.classes[key]: pods for key, pods in given_up.items() if key in model.classes})
        return _Fit(counts, run, model, search)

    def _cheaper(self, first: _Fit, other_start: Counts) -> _Fit:
        """The cheapest that the search finds, verified by a full run; `first` if that does not hold."""
        search = first.search
        counts = search.best_of([first.counts, other_start])
        for _ in range(MOST_VERIFICATIONS):
            if search.cost(counts) >= search.cost(first.counts) - 1e-9:
                break
            run = self._run(counts)
            excess = search.excess(self._by_class(first.model, counts, run))
            if not excess and len(run.lost) <= len(first.run.lost) and not run.stopped:
                return msgspec.structs.replace(first, counts=counts, run=run)
            counts = sum_of(counts, greedy_counts(first.model.packing, excess, counts))
        return first

    def _removed(self, fit: _Fit) -> list[str]:
        """Existing nodes that can go besides, those with the least on them first; each step is a full run."""
        usage = fit.run.result.utilisation.nodes
        order = sorted(self._removable, key=lambda name: (usage[name]["cpu"].fraction if name in usage else 0.0, name))
        left = {pool.name: self._existing[pool.name] + fit.counts.get(pool.name, 0) - pool.min for pool in self._pools}
        removed, step, tried = list[str](), 1, 0
        while order and tried < MOST_REMOVALS and not self._is_late():
            going = self._going(order[:step], left)
            tried += 1
            run = self._run(fit.counts, [*removed, *going]) if going else None
            if (
                run is not None
                and not run.stopped
                and not fit.search.excess(self._by_class(fit.model, fit.counts, run))
            ):
                removed += going
                left = {
                    pool: count - sum(pool_of(self._nodes[name]) == pool for name in going)
                    for pool, count in left.items()
                }
                order, step = order[step:], 2 * step
            elif step == 1:
                order = order[1:]
            else:
                step = 1
        return removed

    def _going(self, names: Sequence[str], left: Mapping[str, int]) -> list[str]:
        """The first of the nodes, as many as their pools can do without."""
        room, going = dict(left), list[str]()
        for name in names:
            pool = pool_of(self._nodes[name])
            if room[pool] > 0:
                room[pool] -= 1
                going.append(name)
        return going

    # -- the answer --------------------------------------------------------------------------------------------------

    def _answer(self, fit: _Fit, run: FullRun, removed: list[str]) -> NodePlan:
        given_up = _by_template(fit.model, fit.search.given_up)
        unplaceable = {key: why for key in run.pending if (why := self._why_nowhere(fit, run.pods()[key])) is not None}
        kept = [self._nodes[name] for name in self._removable if name not in removed]
        kept_cost = [price_of(node) or self._pools[pool_of(node)].price_per_hour for node in kept]
        return NodePlan(
            counts={pool: count for pool, count in fit.counts.items() if count},
            new_nodes=self._new_nodes(fit.counts),
            removed=removed,
            run=run,
            bound=self._bound(self._model_of(run, given_up, self._removable).packing),
            is_infeasible=any(bound.is_infeasible for _, bound in self._known_bounds),
            cost=round(math.fsum([fit.search.cost(fit.counts), *kept_cost]), 9),
            pending={key: message for key, message in run.pending.items() if key not in unplaceable},
            unplaceable=unplaceable,
            trials=fit.search.trials,
            full_runs=self._full_runs,
            is_cut=fit.search.is_cut,
        )

    def _by_class(self, model: PackingModel, counts: Mapping[str, int], run: FullRun) -> Counter[int]:
        """Pending pods of a full run by class; daemon pods that would have room on an empty node by pool."""
        pods, found = run.pods(), Counter[int]()
        new = {node.metadata.name: node for node in self._new_nodes(counts)}
        for pod in (pods[key] for key in run.pending if key in pods):
            number, node = self._number_of(model, pod), new.get(self._probe.info(pod).pinned_to)
            if node is not None and not self._is_homeless(pod, node):
                number = model.packing.daemon_class(pool_of(node))
            if number is not None:
                found[number] += 1
        return found

    def _number_of(self, model: PackingModel, pod: api.Pod) -> int | None:
        """The class of a pod, or that of daemon pods of existing nodes; None for pods that fit nowhere."""
        info = self._probe.info(pod)
        if info.pinned_to not in self._nodes:
            return model.class_of(pod)
        return None if self._probe.refusals(info, self._standing[info.pinned_to]) else model.packing.daemon_class()

    def _is_homeless(self, daemon: api.Pod, node: api.Node) -> bool:
        """Whether not even an empty node of that kind has room for the daemon pod, beside other daemon pods."""
        owner = controller_of(daemon)
        name = f"{daemon.metadata.namespace}/{owner[2] if owner is not None else daemon.metadata.name}"
        return name in self._probe.homeless_daemons.get(self._probe_of(node), ())

    def _why_nowhere(self, fit: _Fit, pod: api.Pod) -> str | None:
        pinned = self._probe.info(pod).pinned_to
        if not pinned:
            return fit.model.why_nowhere(pod)
        new = {node.metadata.name: node for node in self._new_nodes(fit.counts)}
        if pinned in new and self._is_homeless(pod, new[pinned]):
            return NO_ROOM_FOR_DAEMON.format(pool_of(new[pinned]))
        return None


NO_ROOM_FOR_DAEMON: Final = "an empty node of pool {} has no room for it beside other daemon pods"


def _packed_by_hand(packing: Packing) -> Mapping[str, float]:
    demand = {index: pods.count for index, pods in enumerate(packing.classes)}
    return dict(greedy_counts(packing, demand, packing.clamped({})))


def _most_nodes(packing: Packing, counts: Counts) -> Counts:
    """The greatest numbers of nodes that the pools allow; of pools without a limit as many as there are."""
    return {pool: counts.get(pool, 0) if limits.most is None else limits.most for pool, limits in packing.pools.items()}


def _by_template(model: PackingModel, given_up: Mapping[int, int]) -> dict[TemplateKey, int]:
    return {key: given_up[number] for key, number in model.classes.items() if number in given_up}
