# SPDX-License-Identifier: Apache-2.0
"""Search for the events that explain a decision if the other scheduler saw them at another time.

The watch shows an event to both schedulers, but at different times relative to a decision. So the
latest events are reverted in turn, then the next ones applied early; after each the decision is
reviewed again. Events without which the decision is still explained are then dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from steersman import api
from steersman.run.shadow.cluster_model import ClusterModel, WatchChange
from steersman.scheduler.state import same_for_scheduling

T = TypeVar("T")

MAX_EVENTS: Final = 32
"""Maximum number of events to revert, and to apply early."""
MAX_REMEMBERED: Final = 1024
"""Number of past events about the nodes in question; conditions may be written late."""
MAX_SECONDS: Final = 10.0
NOT_YET: Final = "not yet seen: {}"
ALREADY: Final = "already seen: {}"


class ShiftedFinding(NamedTuple, Generic[T]):
    """A finding on the shifted cluster, with the changes that had to be shifted."""

    found: T
    events: tuple[str, ...]


def counts(change: WatchChange) -> bool:
    """Return whether the change may matter for decisions on other pods."""
    old, new = change.old, change.new
    if isinstance(old, api.Node) and isinstance(new, api.Node):
        return not same_for_scheduling(old, new)
    if isinstance(change.object, api.Pod):
        return any(isinstance(pod, api.Pod) and _matters(pod) for pod in (old, new))
    return True


def _matters(pod: api.Pod) -> bool:
    return bool(pod.spec.node_name or pod.status.nominated_node_name)


def concerns(change: WatchChange, nodes: Collection[str]) -> bool:
    """Return whether the change is about one of these nodes, or a pod on or nominated to one."""
    for obj in (change.old, change.new):
        if isinstance(obj, api.Pod) and (obj.spec.node_name in nodes or obj.status.nominated_node_name in nodes):
            return True
    return isinstance(change.object, api.Node) and change.object.metadata.name in nodes


def shifted(
    model: ClusterModel,
    recent: Sequence[WatchChange],
    upcoming: Iterable[WatchChange],
    nodes: Collection[str],
    look: Callable[[], T | None],
) -> ShiftedFinding[T] | None:
    """Call `look` on slightly earlier or later states of the cluster until it finds something;
    return the first finding, and restore the cluster.

    `recent` ends with the latest change; older events about `nodes` are reverted too.
    """
    latest = list(reversed(recent))
    about_nodes = [change for change in latest if concerns(change, nodes)]
    for back in (latest[:MAX_EVENTS], about_nodes[:MAX_EVENTS]):
        found = _step_by_step(back, model.rewind, model.apply, look)
        if found is not None:
            return ShiftedFinding(found[0], tuple(NOT_YET.format(change) for change in found[1]))
    ahead = [change for change, _ in zip(upcoming, range(MAX_EVENTS), strict=False)]
    found = _step_by_step(ahead, model.apply, model.rewind, look)
    if found is not None:
        return ShiftedFinding(found[0], tuple(ALREADY.format(change) for change in found[1]))
    return None


Step = Callable[[WatchChange], None]


def _step_by_step(
    changes: Sequence[WatchChange], do: Step, undo: Step, look: Callable[[], T | None]
) -> tuple[T, list[WatchChange]] | None:
    done: list[WatchChange] = []
    try:
        for change in changes:
            do(change)
            done.append(change)
            if look() is not None:
                return _with_the_needed(done, do, undo, look)
        return None
    finally:
        for change in reversed(done):
            undo(change)


def _with_the_needed(
    done: Sequence[WatchChange], do: Step, undo: Step, look: Callable[[], T | None]
) -> tuple[T, list[WatchChange]] | None:
    """Return a finding that needs few of the changes, and these; the last one is needed."""
    needed = [done[-1]]
    for change in done[:-1]:
        undo(change)
        if look() is None:
            do(change)
            needed.append(change)
    found = look()
    return None if found is None else (found, needed)
