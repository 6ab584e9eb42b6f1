# SPDX-License-Identifier: Apache-2.0
"""The extension points: one base class each, under upstream's names.

A plugin is a class with a `name` that derives from the base classes of its extension points, for
example

    class CheapNodes(ScorePlugin):
        name = "CheapNodes"

        def score(self, pod, node):
            return 100 - min(100, int(node.labels.get("price", "100")))

A missing method is reported when a profile is built. A method may omit the leading `state`
parameter: `score(self, pod, node)` and `score(self, state, pod, node)` are both accepted. Methods
are therefore declared as attributes of either type, so that a type checker accepts both forms and
finds arguments in the wrong order.

`pod` is always a `PodInfo`, `node` a `NodeInfo`, `nodes` a sequence of them; `node_name` a string.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import msgspec

from steersman import api
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ClusterEvent, ClusterEventWithHint
from steersman.framework.node_info import NodeInfo
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Code, Status

MAX_NODE_SCORE = 100
MIN_NODE_SCORE = 0


class PreFilterResult(msgspec.Struct, frozen=True):
    """The only nodes to evaluate, by name; names of nodes that do not exist are ignored."""

    node_names: frozenset[str]


class PostFilterResult(msgspec.Struct, frozen=True):
    """Nomination made by PostFilter: a node name, "" to clear the nomination, None to keep it."""

    nominated_node: str | None = None
    #: How the plugin computed the result, in a type of the plugin; shown in explanations.
    report: object = None


class PermitResult(msgspec.Struct, frozen=True):
    """Result of Permit with the maximum time that the pod may wait."""

    status: Status
    timeout_seconds: float = 0.0


class NodeScore(msgspec.Struct):
    """Score of one feasible node, which NormalizeScore may change."""

    name: str
    score: int


class QueuedPod(Protocol):
    """A pod in the active queue, as passed to a QueueSort plugin."""

    @property
    def pod(self) -> api.Pod:
        """Latest version of the pod in the queue."""

    @property
    def timestamp(self) -> int:
        """Time at which the pod was added or returned to the queue, in microseconds of a monotonic
        clock."""

    @property
    def attempts(self) -> int:
        """Number of scheduling attempts."""


class NodeStatusReader(Protocol):
    """Reasons why no node was feasible, as passed to a PostFilter plugin."""

    @property
    def groups(self) -> dict[Status, list[str]]:
        """Names of the evaluated nodes by status."""

    @property
    def absent(self) -> Status | None:
        """Common status of all nodes that were not evaluated."""

    def counts(self) -> Iterable[tuple[Status, int]]:
        """Yield the number of evaluated nodes by status; cheaper than `groups`."""

    def status_of(self, node: str) -> Status | None:
        """Return why the pod does not fit on the node with this name."""

    def __len__(self) -> int:
        """Number of evaluated nodes that failed."""


StatusAnswer: TypeAlias = Status | None
"""None is success."""
RejectionAnswer: TypeAlias = Status | str | bool | None
"""None and True mean success; a string is the reason of a rejection."""
PostFilterAnswer: TypeAlias = tuple[PostFilterResult | None, Status | None] | Status

# Each method may be declared with or without the leading cycle state.
_PodAndNodes: TypeAlias = (
    Callable[[CycleState, PodInfo, Sequence[NodeInfo]], RejectionAnswer]
    | Callable[[PodInfo, Sequence[NodeInfo]], RejectionAnswer]
)
_PreFilter: TypeAlias = (
    Callable[[CycleState, PodInfo, Sequence[NodeInfo]], RejectionAnswer | PreFilterResult]
    | Callable[[PodInfo, Sequence[NodeInfo]], RejectionAnswer | PreFilterResult]
)
_OtherPod: TypeAlias = (
    Callable[[CycleState, PodInfo, PodInfo, NodeInfo], RejectionAnswer]
    | Callable[[PodInfo, PodInfo, NodeInfo], RejectionAnswer]
)
_Filter: TypeAlias = (
    Callable[[CycleState, PodInfo, NodeInfo], RejectionAnswer] | Callable[[PodInfo, NodeInfo], RejectionAnswer]
)
_PostFilter: TypeAlias = (
    Callable[[CycleState, PodInfo, NodeStatusReader], PostFilterAnswer]
    | Callable[[PodInfo, NodeStatusReader], PostFilterAnswer]
)
_Score: TypeAlias = (
    Callable[[CycleState, PodInfo, NodeInfo], int | Status] | Callable[[PodInfo, NodeInfo], int | Status]
)
_Normalize: TypeAlias = (
    Callable[[CycleState, PodInfo, Sequence[NodeScore]], StatusAnswer]
    | Callable[[PodInfo, Sequence[NodeScore]], StatusAnswer]
)
_Reserve: TypeAlias = Callable[[CycleState, PodInfo, str], RejectionAnswer] | Callable[[PodInfo, str], RejectionAnswer]
_Permit: TypeAlias = (
    Callable[[CycleState, PodInfo, str], StatusAnswer | PermitResult]
    | Callable[[PodInfo, str], StatusAnswer | PermitResult]
)
_PreFlight: TypeAlias = Callable[[CycleState, PodInfo, str], StatusAnswer] | Callable[[PodInfo, str], StatusAnswer]
_Binding: TypeAlias = (
    Callable[[CycleState, PodInfo, str], Awaitable[StatusAnswer] | StatusAnswer]
    | Callable[[PodInfo, str], Awaitable[StatusAnswer] | StatusAnswer]
)
_PostBind: TypeAlias = Callable[[CycleState, PodInfo, str], None] | Callable[[PodInfo, str], None]


class Plugin:
    """Base class of plugins.

    A plugin has a unique name, used in configuration, messages and metrics, and declares the kinds
    of objects that it needs besides those that the scheduler watches anyway
    (`framework.watching.WATCHED_KINDS`).

    If a class has an attribute `args`, a subclass of `msgspec.Struct`, the arguments in
    `pluginConfig` are validated against it and the constructor gets an instance of it. Otherwise
    the constructor gets a mapping.
    """

    name: ClassVar[str] = ""
    #: Kinds to watch, usually custom resources (`steersman.api.custom`). `handle.objects` lists
    #: them, and plugins can register for their events.
    kinds: ClassVar[tuple[type[api.Object], ...]] = ()
    #: Kinds that the plugin reads through `handle.client` without watching them. Simulations load
    #: them, and `doctor` checks the permissions for them.
    reads: ClassVar[tuple[type[api.Object], ...]] = ()


@runtime_checkable
class ConcernsSomePods(Protocol):
    """Optional method of PreFilter and PreScore plugins that do not apply to most pods.

    If `concerns(pod)` is false, PreFilter and PreScore would return Skip, Reserve and PreBind would
    do nothing, and Permit would allow the pod, so none of them is called. The result may depend
    only on the pod's shape (namespace, scheduling-relevant spec, and whether the pod is in a
    group).
    """

    def concerns(self, pod: PodInfo) -> bool: ...


class PreEnqueuePlugin(Plugin):
    """Decides whether a pod may enter the active queue.

    `pre_enqueue` runs while the queue is updated, and readers call it as well (results, `explain`,
    the page, `plan`), so it must not wait and must not write: neither to the plugin nor to the
    cluster. The message of its status is shown wherever the pod is shown as gated. A gated pod has
    no attempt, and so neither a condition nor an event. The plugin is called again when the pod
    changes, after an event that it registers for, and otherwise after five minutes.
    """

    pre_enqueue: Callable[[PodInfo], RejectionAnswer]


@runtime_checkable
class UngatesPods(Protocol):
    """Optional method of PreEnqueue plugins that gate many pods and know which of them an event
    ungates.

    `ungated_pods(event, old, new)` returns the uids of pods that the plugin may have gated until
    now and would let pass. Uids of other pods are ignored. All other pods gated by the plugin stay
    gated: neither the plugin nor the hints of other plugins are called for them. It is called only
    for events that the plugin registers for.
    """

    def ungated_pods(self, event: ClusterEvent, old: object, new: object, /) -> Collection[str]: ...


class QueueSortPlugin(Plugin):
    """Orders the active queue. Each profile has exactly one, and all profiles use the same."""

    #: Implement one of the two. Lower keys come first; the first item of the key must be hashable.
    sort_key: Callable[[QueuedPod], tuple[Any, ...]]
    less: Callable[[QueuedPod, QueuedPod], bool]


class EnqueueExtensions(Plugin):
    """Declares the events that may make a pod schedulable that this plugin rejected."""

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return ()


class BackgroundPlugin(Plugin):
    """Periodically reads data from outside the cluster: metrics, prices, a model.

    `refresh` is awaited before the first pod is scheduled and then every `period_seconds`. It runs
    as a coroutine in the scheduling thread: it may wait for the network but must not compute for
    long. It is cancelled after `deadline_seconds` and at the end of the process. A failure is
    logged; the plugin decides whether to use its previous data. A simulation, whose time is
    virtual, refreshes once, before its first decision.
    """

    period_seconds: float = 60.0
    deadline_seconds: float = 10.0

    #: Return True if pods that this plugin rejected should be retried.
    refresh: Callable[[], Awaitable[bool | None]]


class PreFilterPlugin(Plugin):
    """Runs once per cycle before Filter; may reject the pod, restrict the nodes, or return Skip."""

    pre_filter: _PreFilter
    #: Optional: update the state written by `pre_filter` for a pod that a what-if evaluation adds
    #: or removes.
    add_pod: _OtherPod
    remove_pod: _OtherPod


class FilterPlugin(Plugin):
    """Decides whether the pod fits on one node."""

    filter: _Filter


class PostFilterPlugin(Plugin):
    """Runs if no node is feasible; may make one feasible, for example by preemption."""

    post_filter: _PostFilter


class PreScorePlugin(Plugin):
    """Runs once per cycle with all feasible nodes, before Score."""

    pre_score: _PodAndNodes


class ScorePlugin(Plugin):
    """Scores one feasible node, 0..100 after normalisation."""

    score: _Score
    #: Optional.
    normalize_scores: _Normalize


class ReservePlugin(Plugin):
    """Maintains plugin state for assumed pods; `unreserve` must undo `reserve` and must not
    fail."""

    reserve: _Reserve
    unreserve: _Reserve


class PermitPlugin(Plugin):
    """Approves, delays or rejects the binding."""

    permit: _Permit


class PreBindPlugin(Plugin):
    """Does the work that must be finished before the pod is bound."""

    pre_bind: _Binding
    #: Optional: return Skip if there is nothing to do for this pod.
    pre_bind_pre_flight: _PreFlight


class BindPlugin(Plugin):
    """Binds the pod to the node."""

    bind: _Binding


class PostBindPlugin(Plugin):
    """Runs after the pod was bound."""

    post_bind: _PostBind


def invalid_score(plugin: str, score: int) -> Status:
    """Return the status of a plugin whose normalised score is out of range."""
    text = (
        f'applying score defaultWeights on Score plugins: plugin "{plugin}" returns an invalid score {score}, it should in '
        f"the range of [{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing"
    )
    return Status(Code.ERROR, (text,), plugin)


def default_normalize_score(max_priority: int, reverse: bool, scores: Sequence[NodeScore]) -> None:
    """Scale the scores in place to 0..max_priority, relative to the greatest; `reverse` if lower is
    better."""
    greatest = max((s.score for s in scores), default=0)
    if greatest <= 0:
        if reverse:
            for entry in scores:
                entry.score = max_priority
        return
    for entry in scores:
        # Rounds towards zero, as Go does: negative weights of an added node affinity give negative
        # scores.
        scaled = max_priority * abs(entry.score) // greatest * (1 if entry.score > 0 else -1)
        entry.score = max_priority - scaled if reverse else scaled
