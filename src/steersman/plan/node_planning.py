# SPDX-License-Identifier: Apache-2.0
"""The algorithm of `plan nodes`: from a simulation and pools to verified node counts and a bound.

    probe ─► packing ─► bound, fractions of nodes ─► full run ─► trials: repair, shrink, swap ─► full run: nothing pending?
                                                        └─► packing of the pods of that run ─► bound of the answer

Only a full run of the simulation with the nodes from its start verifies a plan. The best ranked
full run is the answer, so that a plan never leaves more pods pending than another verified one.
Removed existing nodes are those above the `max` of their pool from the start, those replaced by the
solution of the bound in a second search, and others while everything still fits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from steersman import api
from steersman.framework import controller_of
from steersman.plan.node_search import Counts, PoolSizeSearch, rounded_down, scaled_up, sum_of
from steersman.plan.packing import Packing, greedy_counts, packed_greedily
from steersman.plan.packing_model import ExistingNode, PackingModel, PackingModels, TemplateKey, template_key
from steersman.plan.pattern_bound import Bound, pattern_bound
from steersman.plan.time_limit import TimeLimit
from steersman.simulation import (
    FullRun,
    NodePools,
    NodeProbe,
    NodeTrials,
    Simulation,
    belongs_to_node,
    is_recreated,
    pool_of,
    price_of,
)

PROBE_NUMBER: Final = 1_000_000
"""First number of probe nodes, so that their names are unique."""
HEADROOM: Final = 0.03
"""Share added to a perfect packing at the start, because the scheduler spreads pods."""
SAFE_HEADROOM: Final = 0.1
"""The same for the plan that is verified first under a time limit, to leave nothing pending."""
MAX_ROUNDS: Final = 8
"""Maximum full runs until nothing is pending; late pods, as of StatefulSets, need more rounds."""
MAX_VERIFICATIONS: Final = 5
MAX_REMOVALS: Final = 40
"""Maximum full runs that remove existing nodes."""
SEARCH_SHARE: Final = 0.9
"""Share of the time limit for the search; the rest is for the answer and its bound."""
BOUND_SHARE: Final = 0.5
"""Share of the remaining time for the proof of a bound."""
SLOWER: Final = 5
"""Factor by which full runs are fewer than the trials that they replace."""
NEVER: Final = "Never"
NO_NODES: Final = frozenset[str]()
CUT: Final = "the time limit ended the search: another run may find a cheaper plan"
INTERRUPTED: Final = "the search was interrupted: another run may find a cheaper plan"


class OutOfTime(Exception):
    """Raised inside a run or a trial when the time limit of the search has passed."""


class NodePlan(msgspec.Struct, frozen=True):
    """Node counts verified by a full run, and a bound for cheaper ones."""

    counts: Counts
    new_nodes: list[api.Node]
    removed: list[str]
    run: FullRun
    bound: Bound
    #: Whether the limits of the pools provably allow no plan for all pods.
    is_infeasible: bool
    #: Cost of the new nodes and of removable ones that stay.
    cost: float
    #: pod → reason; pods that fit nowhere even alone are separate.
    pending: dict[str, str]
    unplaceable: dict[str, str]
    #: Pool → number of its nodes above its `max` in the plan.
    above_max: dict[str, int]
    trials: int
    full_runs: int
    #: Reason for an early end of the search, or "".
    cut_by: str


class _Fit(msgspec.Struct, frozen=True):
    """Node counts, their full run, and the search that continues from there."""

    counts: Counts
    run: FullRun
    model: PackingModel
    search: PoolSizeSearch
    #: Existing nodes that are removed from the start.
    gone: frozenset[str]


class _Verified(msgspec.Struct, frozen=True):
    """New and removed nodes with their full run."""

    counts: Counts
    gone: frozenset[str]
    run: FullRun
    cost: float
    #: Lower is better: run was stopped, unplaced pods, nodes above limits, cost, changed nodes.
    rank: tuple[bool, int, int, float, int]

    @property
    def has_pending(self) -> bool:
        return self.rank[0] or self.rank[1] > 0


class NodePlanning:
    """One planning task: a simulation, which is not changed, and pools."""

    def __init__(
        self,
        simulation: Simulation,
        pools: NodePools,
        *,
        removes: bool,
        most_trials: int,
        limit: TimeLimit,
        on_progress: Callable[[float, float | None], object] = lambda share, cost: None,
    ) -> None:
        self._simulation = simulation
        self._pools = pools
        self._most_trials = most_trials
        self._limit = limit
        self._search_limit = limit.part(SEARCH_SHARE)
        self._on_progress = on_progress
        self._nodes: dict[str, api.Node] = dict(simulation.cluster.objects(api.Node))
        self._bound_pods = {
            key: pod
            for key, pod in simulation.cluster.objects(api.Pod).items()
            if pod.spec.node_name and pod.status.phase not in api.FINISHED_PHASES
        }
        self._existing = Counter(pool_of(node) for node in self._nodes.values())
        self._removable = frozenset(self._removable_nodes() if removes else ())
        self._probe = NodeProbe(simulation, self._probe_nodes())
        self._models = PackingModels(self._probe, pools)
        self._standing = {info.name: info for info in self._probe.existing_nodes()}
        self._full_runs = 0
        self._known_bounds: list[tuple[Packing, Bound]] = []
        self._searches: list[PoolSizeSearch] = []
        self._best: _Verified | None = None
        #: The simulation without the nodes that a search removes from the start.
        self._bases = {NO_NODES: simulation}

    def plan(self) -> NodePlan:
        """Return the cheapest verified plan that the search finds.

        The first plan is verified even beyond the time limit. Raises `KeyboardInterrupt` if
        interrupted before that.
        """
        cut_by = ""
        try:
            self._search()
        except (OutOfTime, KeyboardInterrupt) as ended:
            if self._best is None:
                raise
            cut_by = INTERRUPTED if isinstance(ended, KeyboardInterrupt) else CUT
        assert self._best is not None
        return self._answer(self._best, cut_by or (CUT if any(search.is_cut for search in self._searches) else ""))

    def _search(self) -> None:
        surplus = self._above_max()
        best = self._search_from(surplus)
        while best.has_pending and surplus:
            surplus = frozenset(sorted(surplus)[: len(surplus) // 2])
            best = self._search_from(surplus)
        replaced = self._replaced_in_bound(best) - surplus if self._removable else NO_NODES
        if replaced:
            best = self._search_from(replaced | surplus)
        if best.has_pending:  # a plan must not be worse for pods than no plan
            self._run({}, NO_NODES)

    def _search_from(self, gone: frozenset[str]) -> _Verified:
        """Search with these nodes removed from the start, and return the best candidate so far."""
        if gone not in self._bases:
            self._bases[gone] = self._simulation.fork()
            self._bases[gone].delete(*(f"node/{name}" for name in sorted(gone)))
        waiting = [info.pod for info in self._probe.waiting if not self._is_daemon(info.pod)]
        placed = self._bound_pods.values()
        waiting += [pod for pod in placed if pod.spec.node_name in gone and not self._is_daemon(pod)]
        staying = [pod for pod in placed if pod.spec.node_name not in gone]
        packing = self._model(waiting, staying, gone=gone).packing
        if self._limit.is_set and self._best is None:  # the bound may take all the time: verify some plan before
            self._run(packing.clamped(scaled_up(packed_greedily(packing), SAFE_HEADROOM)), gone, gone)
        start: Mapping[str, float] = self._bound(packing).counts or packed_greedily(packing)
        first = self._first_fit(packing.clamped(scaled_up(start, HEADROOM)), gone)
        if first.search.given_up and not self._is_late():
            first = self._better(first, self._first_fit(packing.clamped(_most_nodes(packing, first.counts)), gone))
        fit = self._cheaper(first, rounded_down(start))
        if self._removable:
            self._remove_more(fit)
        assert self._best is not None
        return self._best

    def _above_max(self) -> frozenset[str]:
        """Return removable nodes above the `max` of their pools."""
        found = set[str]()
        for pool in self._pools:
            surplus = 0 if pool.max is None else max(0, self._existing[pool.name] - pool.max)
            found.update(self._emptiest(pool.name)[:surplus])
        return frozenset(found)

    def _replaced_in_bound(self, best: _Verified) -> frozenset[str]:
        """Return the removable nodes that the bound's solution replaces, if that saves anything."""
        bound = self._bound(self._placed_model(best.run).packing)
        if bound.lower is None or not bound.counts or best.cost <= bound.lower + 1e-9:
            return NO_NODES
        found = set[str]()
        for pool in self._pools:
            nodes = self._emptiest(pool.name)
            stay = math.ceil(bound.kept.get(pool.name, 0.0) - 1e-6)
            found.update(nodes[: max(0, len(nodes) - stay)])
        return frozenset(found)

    def _emptiest(self, pool: str) -> list[str]:
        """Return the removable nodes of a pool, fewest pods first."""
        pods = Counter(pod.spec.node_name for pod in self._bound_pods.values())
        names = [name for name in self._removable if pool_of(self._nodes[name]) == pool]
        return sorted(names, key=lambda name: (pods[name], name))

    # -- nodes -------------------------------------------------------------------------------------------------------

    def _new_nodes(self, counts: Mapping[str, int]) -> list[api.Node]:
        """Return the new nodes with unused names; zones alternate after those of existing nodes."""
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
        """Return the probe node of the same pool and zone."""
        pool = self._pools[pool_of(node)]
        turn = pool.zones.index(node.metadata.labels[api.ZONE_LABEL]) if pool.zones else 0
        return pool.node_name(PROBE_NUMBER + turn)

    def _removable_nodes(self) -> Iterator[str]:
        """Return the nodes of the pools whose pods would all be recreated, or are node-bound."""
        cluster = self._simulation.cluster
        holding = {
            pod.spec.node_name
            for pod in self._bound_pods.values()
            if not belongs_to_node(pod) and not is_recreated(cluster, pod)
        }
        return (name for name, node in self._nodes.items() if pool_of(node) in self._pools and name not in holding)

    # -- packings and bounds -----------------------------------------------------------------------------------------

    def _model(
        self,
        pods: Sequence[api.Pod],
        others: Iterable[api.Pod],
        *,
        gone: frozenset[str] = NO_NODES,
        removable: frozenset[str] = NO_NODES,
    ) -> PackingModel:
        """Return the packing of pods that need a place, beside others on remaining existing nodes.

        Others need one too if their node is removable, or if they may be preempted and recreated.
        """
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
            ExistingNode(node, tuple(standing.get(name, ())), name in removable)
            for name, node in self._nodes.items()
            if name not in gone
        ]
        return self._models.model([*pods, *moving], nodes)

    def _model_of(self, run: FullRun, gone: frozenset[str]) -> PackingModel:
        """Return the packing of the pods at the end of a full run without these nodes."""
        needy, others = self._needy(run)
        return self._model(needy, others, gone=gone)

    def _placed_model(self, run: FullRun) -> PackingModel:
        """Return the packing for every plan that places at least the pods placed by the run."""
        needy, others = self._needy(run)
        return self._model([pod for pod in needy if pod.spec.node_name], others, removable=self._removable)

    def _needy(self, run: FullRun) -> tuple[list[api.Pod], list[api.Pod]]:
        """Return a run's final pods that need a place, and those that stay or are node-bound."""
        needy, others = list[api.Pod](), list[api.Pod]()
        for key, pod in run.pods().items():
            was = self._bound_pods.get(key)
            stays = was is not None and was.metadata.uid == pod.metadata.uid
            if pod.spec.node_name in self._nodes and (stays or self._is_daemon(pod)):
                others.append(pod)
            elif not self._is_daemon(pod):
                needy.append(pod)
        return needy, others

    def _is_daemon(self, pod: api.Pod) -> bool:
        """Return whether the pod is bound to its node: of a DaemonSet, static, or pinned."""
        owner = controller_of(pod)
        return (owner is not None and owner[1] in ("DaemonSet", "Node")) or bool(self._probe.info(pod).pinned_to)

    def _bound(self, packing: Packing, limit: TimeLimit | None = None) -> Bound:
        """Return the bound of the packing, by default within a share of the remaining time."""
        known = self._known_bound(packing)
        if known.lower is not None or known.counts:
            return known
        bound = pattern_bound(packing, limit or self._search_limit.part(BOUND_SHARE))
        self._known_bounds.append((packing, bound))
        return bound

    def _known_bound(self, packing: Packing) -> Bound:
        return next((bound for known, bound in self._known_bounds if known == packing), Bound(None))

    # -- searching ---------------------------------------------------------------------------------------------------

    def _run(self, counts: Counts, gone: frozenset[str], base: frozenset[str] = NO_NODES) -> FullRun:
        """Run the simulation with new nodes and without removed ones, and rank the outcome."""
        run = FullRun(self._bases[base], self._new_nodes(counts), sorted(gone - base), self._check_time)
        self._full_runs += 1
        cost = self._cost(counts, gone)
        waiting = len(run.lost) + len(run.pending) - self._homeless_on_new(counts, run)
        above, changes = sum(self._nodes_above_max(counts, gone).values()), sum(counts.values()) + len(gone)
        rank = (bool(run.stopped), waiting, above, cost, changes)
        if self._best is None or rank < self._best.rank:
            self._best = _Verified(counts, gone, run, cost, rank)
        self._report()
        return run

    def _is_late(self) -> bool:
        """Return whether the search must end; never before a plan is verified."""
        return self._best is not None and self._search_limit.is_over()

    def _check_time(self) -> None:
        if self._is_late():
            raise OutOfTime

    def _report(self) -> None:
        """Report the used share of trials, and the cost of the best plan, to the caller."""
        share = sum(search.trials for search in self._searches) / self._most_trials
        self._on_progress(min(share, 1.0), None if self._best is None else self._best.cost)

    def _cost(self, counts: Mapping[str, int], gone: frozenset[str]) -> float:
        """Return the cost of new nodes and of removable nodes that stay."""
        new = [count * self._pools[pool].price_per_hour for pool, count in counts.items()]
        kept = [self._nodes[name] for name in self._removable - gone]
        return round(math.fsum([*new, *(price_of(one) or self._pools[pool_of(one)].price_per_hour for one in kept)]), 9)

    def _nodes_above_max(self, counts: Mapping[str, int], gone: frozenset[str]) -> dict[str, int]:
        left = self._existing - Counter(pool_of(self._nodes[name]) for name in gone) + Counter(counts)
        limits = {pool.name: pool.max for pool in self._pools if pool.max is not None}
        return {pool: left[pool] - most for pool, most in limits.items() if left[pool] > most}

    def _first_fit(self, counts: Counts, gone: frozenset[str]) -> _Fit:
        """Add nodes until nothing is pending, except pods that no number of nodes helps."""
        given_up: dict[TemplateKey, int] = {}
        step = 1
        for left in range(MAX_ROUNDS, 0, -1):
            run = self._run(counts, gone, gone)
            fit = self._fit(counts, gone, run, given_up)
            excess = fit.search.excess(self._by_class(fit.model, fit.counts, run))
            if not (excess or run.lost) or left == 1:
                break
            more = fit.search.repair(counts)
            if more == counts and not fit.search.given_up:  # trials have room where the full run has none
                more, step = _with_more(fit.model.packing, counts, excess, step), 2 * step
            given_up.update(_by_template(fit.model, fit.search.given_up))
            if more == counts:
                break
            counts = more
        return fit

    def _better(self, one: _Fit, other: _Fit) -> _Fit:
        """Return the one with fewer pending pods."""
        return other if len(other.run.pending) < len(one.run.pending) else one

    def _fit(self, counts: Counts, gone: frozenset[str], run: FullRun, given_up: Mapping[TemplateKey, int]) -> _Fit:
        """Return a search for the pods of a full run, by trials or, if impossible, by full runs."""
        model = self._model_of(run, gone)
        new = {node.metadata.name for node in self._new_nodes(counts)}
        classes = {key: self._number_of(model, pod) for key, pod in run.pods().items()}

        def is_left_out(pod: api.Pod) -> bool:
            return classes[api.key(pod)] is None and api.key(pod) in run.pending

        trials = NodeTrials.made_of(self._bases[gone], run, new, is_left_out)

        def pending(numbers: Counts, most: int | None) -> Counter[int]:
            self._report()
            if trials is None:
                return self._by_class(model, numbers, self._run(numbers, gone, gone))
            nodes = self._new_nodes(numbers)
            daemons = [[info.pod for info in self._probe.empty_nodes[self._probe_of(node)].pods] for node in nodes]
            pools = {f"node/{node.metadata.name}": pool_of(node) for node in nodes}
            keys = trials.pending(nodes, daemons, most, self._check_time)
            found = (model.packing.daemon_class(pools[key]) if key in pools else classes[key] for key in keys)
            return Counter(number for number in found if number is not None)

        most_trials = self._most_trials if trials is not None else max(1, self._most_trials // SLOWER)
        has_removable = any(kind.most is not None for kind in model.packing.kinds)
        least_cost = 0.0 if has_removable else self._known_bound(model.packing).lower or 0.0
        search = PoolSizeSearch(model.packing, pending, most_trials, self._is_late, least_cost)
        search.given_up.update({model.classes[key]: pods for key, pods in given_up.items() if key in model.classes})
        self._searches.append(search)
        return _Fit(counts, run, model, search, gone)

    def _cheaper(self, first: _Fit, other_start: Counts) -> _Fit:
        """Return the cheapest counts found, if a full run verifies them, else `first`."""
        search = first.search
        counts = search.best_of([first.counts, other_start])
        for attempt in range(MAX_VERIFICATIONS):
            if search.cost(counts) >= search.cost(first.counts) - 1e-9:
                break
            run = self._run(counts, first.gone, first.gone)
            excess = search.excess(self._by_class(first.model, counts, run))
            if not excess and len(run.lost) <= len(first.run.lost) and not run.stopped:
                return msgspec.structs.replace(first, counts=counts, run=run)
            counts = _with_more(first.model.packing, counts, excess, 2**attempt)
        return first

    def _remove_more(self, fit: _Fit) -> None:
        """Remove further existing nodes, least used first; each step is a full run."""
        usage = fit.run.result.utilisation.nodes
        placed = self._placed(fit.run)
        order = [name for name in self._removable if name not in fit.gone]
        order.sort(key=lambda name: (usage[name]["cpu"].fraction if name in usage else 0.0, name))
        gone, step, tried = fit.gone, 1, 0
        while order and tried < MAX_REMOVALS and not self._is_late():
            going = frozenset(self._going(order[:step], fit.counts, gone))
            tried += 1
            run = self._run(fit.counts, gone | going, fit.gone) if going else None
            if run is not None and not run.stopped and self._is_no_worse(run, fit.run, placed):
                gone |= going
                order, step = order[step:], 2 * step
            elif step == 1:
                order = order[1:]
            else:
                step //= 2
        self._keep_instead(fit, gone)

    def _keep_instead(self, fit: _Fit, gone: frozenset[str]) -> None:
        """Try to keep nodes instead of adding the same number to their pool."""
        counts, left = dict(fit.counts), set(gone)
        for pool in fit.counts:
            going = [name for name in reversed(self._emptiest(pool)) if name in gone - fit.gone][: counts[pool]]
            counts[pool] -= len(going)
            left.difference_update(going)
        if left != gone and not self._is_late():
            self._run(counts, frozenset(left), fit.gone)

    def _is_no_worse(self, run: FullRun, than: FullRun, placed: Counter[TemplateKey]) -> bool:
        """Return whether a run places as many pods of each template, and loses no more pods."""
        if len(run.lost) > len(than.lost) or len(run.pending) > len(than.pending):
            return False
        return not placed - self._placed(run)

    def _placed(self, run: FullRun) -> Counter[TemplateKey]:
        """Return the number of placed pods by template, without node-bound ones."""
        pods = (pod for pod in run.pods().values() if pod.spec.node_name and not self._is_daemon(pod))
        return Counter(template_key(self._probe.info(pod)) for pod in pods)

    def _going(self, names: Sequence[str], counts: Mapping[str, int], gone: frozenset[str]) -> list[str]:
        """Return the first nodes whose removal respects the `min` of their pools."""
        room = self._existing - Counter(pool_of(self._nodes[name]) for name in gone) + Counter(counts)
        going = list[str]()
        for name in names:
            pool = pool_of(self._nodes[name])
            if room[pool] > self._pools[pool].min:
                room[pool] -= 1
                going.append(name)
        return going

    # -- the answer --------------------------------------------------------------------------------------------------

    def _answer(self, best: _Verified, cut_by: str) -> NodePlan:
        run, counts, pods = best.run, best.counts, best.run.pods()
        model = self._model_of(run, best.gone) if run.pending else None
        unplaceable = {
            key: why
            for key in run.pending
            if model is not None and key in pods and (why := self._why_no_node(model, counts, pods[key])) is not None
        }
        packing = self._placed_model(run).packing
        bound = self._known_bound(packing) if cut_by == INTERRUPTED else self._bound(packing, self._limit)
        if bound.lower is not None and bound.lower > best.cost + 1e-9:  # never a bound that the plan itself disproves
            bound = Bound(None)
        return NodePlan(
            counts={pool: count for pool, count in counts.items() if count},
            new_nodes=self._new_nodes(counts),
            removed=sorted(best.gone),
            run=run,
            bound=bound,
            is_infeasible=best.has_pending and any(known.is_infeasible for _, known in self._known_bounds),
            cost=best.cost,
            pending={key: message for key, message in run.pending.items() if key not in unplaceable},
            unplaceable=unplaceable,
            above_max=self._nodes_above_max(counts, best.gone),
            trials=sum(search.trials for search in self._searches),
            full_runs=self._full_runs,
            cut_by=cut_by,
        )

    def _by_class(self, model: PackingModel, counts: Mapping[str, int], run: FullRun) -> Counter[int]:
        """Return a full run's pending pods by class; daemon pods that fit an empty node by pool."""
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
        """Return the class of a pod, or of existing nodes' daemon pods; None if it fits nowhere."""
        info = self._probe.info(pod)
        if info.pinned_to not in self._nodes:
            return model.class_of(pod)
        return None if self._probe.refusals(info, self._standing[info.pinned_to]) else model.packing.daemon_class()

    def _is_homeless(self, daemon: api.Pod, node: api.Node) -> bool:
        """Return whether the daemon pod does not fit an empty node beside other daemon pods."""
        owner = controller_of(daemon)
        name = f"{daemon.metadata.namespace}/{owner[2] if owner is not None else daemon.metadata.name}"
        return name in self._probe.homeless_daemons.get(self._probe_of(node), ())

    def _homeless_on_new(self, counts: Mapping[str, int], run: FullRun) -> int:
        """Return the number of pending daemon pods that do not fit even an empty node."""
        new = {node.metadata.name: node for node in self._new_nodes(counts)} if run.pending else {}
        pods = (run.pods()[key] for key in run.pending if key in run.pods())
        return sum(
            pinned in new and self._is_homeless(pod, new[pinned])
            for pod in pods
            for pinned in (self._probe.info(pod).pinned_to,)
        )

    def _why_no_node(self, model: PackingModel, counts: Mapping[str, int], pod: api.Pod) -> str | None:
        pinned = self._probe.info(pod).pinned_to
        if not pinned:
            return model.why_no_node(pod)
        new = {node.metadata.name: node for node in self._new_nodes(counts)}
        if pinned in new and self._is_homeless(pod, new[pinned]):
            return NO_ROOM_FOR_DAEMON.format(pool_of(new[pinned]))
        return None


NO_ROOM_FOR_DAEMON: Final = "an empty node of pool {} has no room for it with its other daemon pods"


def _most_nodes(packing: Packing, counts: Counts) -> Counts:
    """Return the maximum counts of the pools, or the given ones for pools without a limit."""
    return {pool: counts.get(pool, 0) if limits.most is None else limits.most for pool, limits in packing.pools.items()}


def _with_more(packing: Packing, counts: Counts, excess: Mapping[int, int], step: int) -> Counts:
    """Return the counts plus `step` times the nodes that the pending pods need.

    A few more nodes may not help daemon pods, as other pods take their room: callers double `step`.
    """
    added = greedy_counts(packing, excess, counts)
    more = sum_of(counts, {pool: count * step for pool, count in added.items()})
    return more if packing.allows(more) else sum_of(counts, added)


def _by_template(model: PackingModel, given_up: Mapping[int, int]) -> dict[TemplateKey, int]:
    return {key: given_up[number] for key, number in model.classes.items() if number in given_up}
