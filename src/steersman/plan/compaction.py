# SPDX-License-Identifier: Apache-2.0
"""`plan compact`: moves, in an order that budgets allow, that make pending pods fit or empty nodes.

A move is an eviction: the pod's controller recreates it, and the scheduler chooses its node. Moves
are tried one at a time on a fork, each run to rest. A move counts only if its budget allows it, the
pod's replacement is placed, and no other pod becomes pending or preempted. Failed attempts are
dropped with their fork. Only pods that exist at the start are moved, so that every name is known.

To make a pending pod fit, pods are moved off a node that only lacks resources, the largest first,
until the pod is placed. Then nodes are emptied:

    nodes without pods to move ─► cordoned, at no cost
    others, by fewest pods, then highest price ─► cordoned together, within the budget of moves
        ─► emptied one by one; if pods need room on cordoned nodes, the last of these are uncordoned
    if other nodes than planned were cordoned ─► all moves again, only the emptied nodes cordoned

So no pod moves to a node that is emptied later. Nodes with pods without a controller are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Final

import msgspec

from steersman import api
from steersman.base import InputError, counted
from steersman.base.report import Cell, Figures, Section, Table
from steersman.framework import pod_requests
from steersman.plan.answer import OnEnd, Part, PlanAnswer, grouped
from steersman.plan.measures import Fractions, fractions, heat_maps
from steersman.simulation import PodEviction, Result, Simulation, Trial, belongs_to_node, is_recreated, price_of

BUDGET: Final = 20
TRIES: Final = 100
"""Default limit of failed attempts, for each pending pod and for emptying nodes."""
ROOM: Final = frozenset({"NodeResourcesFit"})
MAKES_FIT: Final = "makes room for {}"
EMPTIES: Final = "empties {}"
STOPPED: Final = "the search stopped after {} that could not be emptied; {} not tried: --tries raises the limit"
NO_MOVES_LEFT: Final = "all {} are used; {} not tried: --budget raises the limit"
RECEIVED: Final = "it holds pod {}, which moved or was created during the simulation"


class Move(Part, frozen=True):
    """One eviction, and where its successor goes."""

    pod: str
    from_: str = msgspec.field(name="from")
    to: str
    #: The pod that replaces it.
    successor: str
    why: str


class Compaction(PlanAnswer, frozen=True, kw_only=True):
    """Moves that make pending pods fit or empty nodes, in their order."""

    KIND: ClassVar[str] = "Compaction"

    #: Whether the moves make a pending pod fit or empty a node.
    fits: bool
    moves: tuple[Move, ...]
    #: Formerly pending pod → its node.
    placed: dict[str, str]
    #: Removable nodes, already empty ones first; all are cordoned before the first move off one.
    emptied: tuple[str, ...]
    #: Still pending pod → the scheduler's message.
    pending: dict[str, str]
    #: Cost of the emptied nodes per hour.
    saved: float
    #: Node that could not be emptied → reason.
    kept: dict[str, str]
    before: Fractions = {}
    after: Fractions = {}

    @property
    def is_met(self) -> bool:
        return self.fits

    def question(self) -> str:
        return "Which moves make pending pods fit, or empty nodes?"

    def sentence(self) -> str:
        if not self.fits:
            return "no moves were found that make a pending pod fit or empty a node"
        parts = [f"make {counted(len(self.placed), 'pending pod')} fit"] if self.placed else []
        idle = len(_idle_nodes(self.emptied, self.moves))
        cleared = len(self.emptied) - idle
        parts += [f"empty {counted(cleared, 'node')}"] if cleared else []
        clauses = [f"{counted(len(self.moves), 'move')} would {' and '.join(parts)}"] if parts else []
        clauses += [f"{counted(idle, 'node')} {'is' if idle == 1 else 'are'} empty already"] if idle else []
        costs = (
            ", which costs" if len(self.emptied) == 1 else "; together they cost" if idle and parts else ", which cost"
        )
        return "; ".join(clauses) + (f"{costs} {self.saved:g} per hour" if self.saved else "")

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per move in order."""
        return [{"step": step, **msgspec.to_builtins(move)} for step, move in enumerate(self.moves, 1)]

    def sections(self) -> list[Section]:
        figures: dict[str, Cell] = {
            "moves": len(self.moves),
            "emptied nodes": len(self.emptied),
            "pods placed": len(self.placed),
        }
        sources = {move.from_ for move in self.moves}
        cordons = [(name, "pods move away" if name in sources else "is empty") for name in self.emptied]
        moves = [(step, m.pod, m.from_, m.to, m.why) for step, m in enumerate(self.moves, 1)]
        return [
            Figures("At a glance", figures),
            Table("Moves", ["step", "evict", "from", "to", "why"], moves),
            Table("Nodes to cordon before they are emptied", ["cordon", "why"], cordons),
            Table("Placed", ["pending pod", "goes to"], list(self.placed.items())),
            Table("Still pending", ["still pending", "why"], grouped(self.pending)),
            Table("Not emptied", ["not emptied", "why"], list(self.kept.items())),
            *heat_maps(self.before, self.after),
        ]


def compact(
    simulation: Simulation,
    *,
    budget: int = BUDGET,
    pods: Sequence[str] | None = None,
    tries: int = TRIES,
    on_end: OnEnd | None = None,
) -> Compaction:
    """Find at most `budget` moves that make pending pods fit, and then empty nodes.

    `pods` restricts this to the given pending pods (`namespace/name`), and no nodes are emptied.
    `tries` limits the failed attempts per pending pod, and those to empty nodes. `on_end` gets the
    simulation after the moves. Raises `InputError` for a pod that is not pending.
    """
    trial = simulation.fork()
    before = trial.run()
    search = _Search(trial, budget, tries)
    for pod in _wanted(before, pods):
        search.make_fit(pod)
    kept = search.empty_nodes() if pods is None else {}
    result = search.trial.result()
    if on_end is not None:
        on_end(search.trial)
    nodes = search.trial.cluster.objects(api.Node)
    answer = Compaction(
        fits=bool(search.placed or search.emptied),
        moves=tuple(search.moves),
        placed=search.placed,
        emptied=tuple(search.emptied),
        pending={pod: place.message for pod, place in result.pending.items()},
        saved=round(sum(price_of(nodes[name]) for name in search.emptied), 6),
        kept=kept,
        before=fractions(before),
        after=fractions(result),
        notes=(
            *search.notes,
            *_new_names(simulation, search.moves),
            *((before.stopped,) if before.stopped else ()),
            *before.notes,
        ),
    )
    search.trial.close()
    return answer


def _idle_nodes(emptied: Sequence[str], moves: Sequence[Move]) -> list[str]:
    """Return the emptied nodes that had no pods to move."""
    sources = {move.from_ for move in moves}
    return [name for name in emptied if name not in sources]


def _new_names(simulation: Simulation, moves: Sequence[Move]) -> Iterator[str]:
    """Yield a note about moves of pods outside the input, whose names differ in a real cluster."""
    made = sum(move.pod not in simulation.cluster.objects(api.Pod) for move in moves)
    if made:
        yield f"{counted(made, 'move')} of pods that are not in the input: in a cluster they have other names"


def _wanted(before: Result, pods: Sequence[str] | None) -> list[str]:
    pending = [pod for pod, place in before.pending.items() if place.reason == "Unschedulable"]
    if pods is None:
        return pending
    names = [pod if "/" in pod else f"default/{pod}" for pod in pods]
    for name in names:
        if name not in pending:
            hint = f"pending are: {', '.join(pending[:5]) or 'none'}"
            raise InputError("is not pending because it fits nowhere", object=f"Pod {name}", hint=hint)
    return names


class _Search:
    """State of the search: the moves so far, and the cluster after them."""

    def __init__(self, trial: Trial, budget: int, tries: int) -> None:
        self.trial = trial
        self._left = budget
        self._tries = tries
        self._budget = budget
        self._originals = frozenset(trial.cluster.objects(api.Pod))
        self.moves: list[Move] = []
        self.placed: dict[str, str] = {}
        self.emptied: list[str] = []
        #: Notes about an early end of the search.
        self.notes: list[str] = []

    # -- pending pods ------------------------------------------------------------------------------------------------

    def make_fit(self, pod: str) -> None:
        """Move pods off a node for the pending pod, unless earlier moves have made it fit."""
        node = self._node_of(self.trial, pod)
        if node:
            self.placed[pod] = node
            return
        for movable in self._pods_in_the_way(pod):
            if self._tried(partial(self._moved_until_placed, movable=movable, pod=pod)) is not None:
                self.placed[pod] = self._node_of(self.trial, pod)
                return

    def _pods_in_the_way(self, pod: str) -> list[list[str]]:
        """Return the pods to move, largest first, per node that lacks only room; fewest first."""
        explanation = self.trial.result().explain(pod)
        wanted = pod_requests(self.trial.cluster.get(api.Pod, pod))
        found = []
        usages = self.trial.result().utilisation.nodes
        for node in explanation.nodes:
            if node.fits or {verdict.plugin for verdict in node.verdicts} - ROOM:
                continue
            free = {name: usage.allocatable - usage.requested for name, usage in usages[node.node].items()}
            missing = {
                name: amount - free.get(name, 0) for name, amount in wanted.items() if amount > free.get(name, 0)
            }
            movable = self._movable(node.node, missing)
            if movable is not None and len(movable) <= self._left:
                found.append(movable)
        found.sort(key=len)
        return found[: self._tries]

    def _movable(self, node: str, missing: Mapping[str, int]) -> list[str] | None:
        """Return the pods to move, largest first, until nothing is missing; None if impossible."""
        left, chosen = dict(missing), list[str]()
        pods = [pod for pod in _pods_on(self.trial, node) if self._obstacle(pod) == "" and not belongs_to_node(pod)]
        sizes = {api.key(pod): pod_requests(pod) for pod in pods}
        for key in sorted(sizes, key=lambda key: (-_size(sizes[key], missing), key)):
            if all(amount <= 0 for amount in left.values()):
                break
            chosen.append(key)
            left = {name: amount - sizes[key].get(name, 0) for name, amount in left.items()}
        return chosen if all(amount <= 0 for amount in left.values()) else None

    def _moved_until_placed(self, trial: Trial, movable: Sequence[str], pod: str) -> list[Move] | None:
        moves: list[Move] = []
        for key in movable:
            move = _move(trial, key, MAKES_FIT.format(pod), pod)
            if isinstance(move, str):
                return None
            moves.append(move)
            if self._node_of(trial, pod):
                return moves
        return moves if self._node_of(trial, pod) else None

    # -- empty nodes -------------------------------------------------------------------------------------------------

    def empty_nodes(self) -> dict[str, str]:
        """Empty nodes, and return the others with the reason."""
        before, kept = self.trial.fork(), dict[str, str]()
        pods = self._pods_by_candidate()
        idle = [name for name, found in pods.items() if not found]
        for name, found in pods.items():
            obstacle = next(filter(None, map(self._obstacle, found)), "")
            if obstacle:
                kept[name] = obstacle
        waiting = [name for name, found in pods.items() if found and name not in kept]
        planned = list(self._affordable(waiting, pods))
        for name in (*idle, *planned):
            self.trial.cordon(name)
        moves_before, chosen = len(self.moves), self._empty_in_turn(waiting, pods, list(planned), kept)
        if chosen != planned:
            self.trial.close()
            self.trial, moves = self._repeated(before, idle, chosen, pods, kept)
            self.moves[moves_before:] = moves
        else:
            before.close()
        self.emptied = [*idle, *chosen]
        return kept

    def _pods_by_candidate(self) -> dict[str, list[api.Pod]]:
        """Return the pods to move, largest first, for every uncordoned node; nodes with the fewest
        pods first, then the most expensive."""
        nodes = {
            name: node for name, node in self.trial.cluster.objects(api.Node).items() if not node.spec.unschedulable
        }
        found: dict[str, list[api.Pod]] = {name: [] for name in nodes}
        for pod in self.trial.cluster.objects(api.Pod).values():
            is_there = pod.spec.node_name in found and pod.status.phase not in api.FINISHED_PHASES
            if is_there and not belongs_to_node(pod):
                found[pod.spec.node_name].append(pod)
        prices = {name: price_of(node) for name, node in nodes.items()}
        return {
            name: sorted(found[name], key=lambda pod: (-_size(pod_requests(pod), {}), api.key(pod)))
            for name in sorted(found, key=lambda name: (len(found[name]), -prices[name], name))
        }

    def _obstacle(self, pod: api.Pod) -> str:
        """Return the reason against moving the pod, or ""."""
        if api.key(pod) not in self._originals or api.key(pod) in self.placed:
            return RECEIVED.format(api.key(pod))
        return "" if is_recreated(self.trial.cluster, pod) else f"no controller would recreate pod {api.key(pod)}"

    def _affordable(self, names: Sequence[str], pods: Mapping[str, Sequence[api.Pod]]) -> Iterator[str]:
        left = self._left
        for name in names:
            if len(pods[name]) > left:
                return
            left -= len(pods[name])
            yield name

    def _empty_in_turn(
        self,
        names: Sequence[str],
        pods: Mapping[str, Sequence[api.Pod]],
        cordoned: list[str],
        kept: dict[str, str],
    ) -> list[str]:
        """Empty nodes one by one, some of them cordoned already, and return the emptied ones."""
        chosen, failed = list[str](), 0
        for number, name in enumerate(names):
            left = counted(len(names) - number, "node")
            if self._left == 0:
                self.notes.append(NO_MOVES_LEFT.format(counted(self._budget, "move"), f"{left} more were"))
                break
            if failed == self._tries:
                self.notes.append(STOPPED.format(counted(failed, "node"), f"{left} more were"))
                break
            if len(pods[name]) > self._left:
                kept[name] = f"takes {counted(len(pods[name]), 'move')}, of which {self._left} are left"
                continue
            if name in {move.to for move in self.moves}:
                kept[name] = "pods of other nodes have moved to it"
                continue
            if name in cordoned:
                cordoned.remove(name)
            why = self._emptied_with_room(name, [api.key(pod) for pod in pods[name]], cordoned)
            if not why:
                chosen.append(name)
                continue
            kept[name], failed = why, failed + 1
            self.trial.uncordon(name)
        return chosen

    def _emptied_with_room(self, node: str, pods: Sequence[str], cordoned: list[str]) -> str:
        """Return the reason why the node could not be emptied, or "". If its pods need cordoned
        nodes, uncordon the last ones and remove them from `cordoned`."""
        why = self._emptied(node, pods)
        if not why or not cordoned:
            return why
        with self.trial.fork() as probe:
            if _moved_away(probe, node, pods, cordoned)[1]:
                return why
        count = 1
        while (why := self._emptied(node, pods, cordoned[-count:])) and count < len(cordoned):
            count *= 2
        if not why:
            del cordoned[-count:]
        return why

    def _emptied(self, node: str, pods: Sequence[str], uncordoned: Sequence[str] = ()) -> str:
        """Return the reason why the node could not be emptied, or ""."""
        failed = ""

        def empty(trial: Trial) -> list[Move] | None:
            nonlocal failed
            moves, failed = _moved_away(trial, node, pods, uncordoned)
            return None if failed else moves

        self._tried(empty)
        return failed

    def _repeated(
        self,
        before: Trial,
        idle: Sequence[str],
        chosen: list[str],
        pods: Mapping[str, Sequence[api.Pod]],
        kept: dict[str, str],
    ) -> tuple[Trial, list[Move]]:
        """Return the cluster and the moves if exactly these nodes are cordoned first. If a node
        cannot be emptied then, remove it from `chosen` and repeat without it."""
        trial, moves, failed = before.fork(), list[Move](), ""
        for name in (*idle, *chosen):
            trial.cordon(name)
        for name in chosen:
            made, failed = _moved_away(trial, name, [api.key(pod) for pod in pods[name]])
            if failed:
                break
            moves += made
        if not failed:
            before.close()
            return trial, moves
        kept[name] = failed
        chosen.remove(name)
        trial.close()
        return self._repeated(before, idle, chosen, pods, kept)

    # -- both --------------------------------------------------------------------------------------------------------

    def _tried(self, attempt: Callable[[Trial], list[Move] | None]) -> list[Move] | None:
        """Attempt moves on a fork, which becomes the cluster on success; return them or None."""
        trial = self.trial.fork()
        moves = attempt(trial)
        if moves is None:
            trial.close()
            return None
        self.trial.close()
        self.trial = trial
        self.moves += moves
        self._left -= len(moves)
        return moves

    def _node_of(self, trial: Trial, pod: str) -> str:
        found = trial.cluster.find(api.Pod, pod)
        return "" if found is None else found.spec.node_name


def _moved_away(trial: Trial, node: str, pods: Sequence[str], uncordoned: Sequence[str] = ()) -> tuple[list[Move], str]:
    """Cordon the node and move its pods; return the moves and the reason of a failure or ""."""
    trial.cordon(node)
    for name in uncordoned:
        trial.uncordon(name)
    moves: list[Move] = []
    for key in pods:
        move = _move(trial, key, EMPTIES.format(node))
        if isinstance(move, str):
            return moves, move
        moves.append(move)
    return moves, ""


def _move(trial: Trial, pod: str, why: str, may_wait: str = "") -> Move | str:
    """Evict the pod and run to rest. Return the reason of a failure if its budget forbids the
    eviction, if it does not fit elsewhere, or if another pod becomes pending or is preempted.

    `may_wait` is the pod for which room is made; it may stay pending.
    """
    before, preempted = _waiting(trial), len(trial.preempted)
    try:
        eviction = PodEviction(trial, pod)
    except InputError as error:
        return f"pod {pod} cannot be evicted: {error.message}"
    if trial.run().stopped:
        return f"evicting pod {pod} does not come to rest"
    if len(trial.preempted) > preempted:
        return f"pod {pod} cannot move without preempting others"
    new = eviction.replacement()
    if _waiting(trial) - before - {may_wait} or new is None or new.spec.node_name in ("", eviction.source):
        return f"pod {pod} has no other place"
    return Move(pod, from_=eviction.source, to=new.spec.node_name, successor=api.key(new), why=why)


def _waiting(trial: Trial) -> frozenset[str]:
    """Return the unfinished pods without a node."""
    pods = trial.cluster.objects(api.Pod).items()
    return frozenset(key for key, pod in pods if not pod.spec.node_name and pod.status.phase not in api.FINISHED_PHASES)


def _pods_on(trial: Trial, node: str) -> Iterator[api.Pod]:
    pods = trial.cluster.objects(api.Pod).values()
    return (pod for pod in pods if pod.spec.node_name == node and pod.status.phase not in api.FINISHED_PHASES)


def _size(requests: Mapping[str, int], missing: Mapping[str, int]) -> float:
    """Return the pod's share of the missing amounts; without these its size in CPU and memory."""
    if missing:
        return sum(min(1.0, requests.get(name, 0) / amount) for name, amount in missing.items() if amount > 0)
    return requests.get("cpu", 0) / 1000 + requests.get("memory", 0) / 2**32
