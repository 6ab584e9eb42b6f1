# SPDX-License-Identifier: Apache-2.0
"""The extension points: one base class each, under upstream's names.

A plugin is a class with a `name` that derives from the points it takes part in, for example

    class CheapNodes(ScorePlugin):
        name = "CheapNodes"

        def score(self, pod, node):
            return 100 - min(100, int(node.labels.get("price", "100")))

The base classes say that a plugin takes part, and of what types its methods are; a method that is missing is reported when a
profile is built. A method may leave out the leading `state` parameter when it does not need it: `score(self, pod, node)` and
`score(self, state, pod, node)` are both fine. That is why the methods are declared as attributes, of either type: a type
checker accepts both forms, and finds arguments in a wrong order.

| point | method | answers |
|---|---|---|
| PreEnqueue | `pre_enqueue(pod)` | Status or None |
| QueueSort | `sort_key(queued)` or `less(a, b)` | a tuple; or a bool |
| EnqueueExtensions | `events_to_register()` | the events that may make a rejected pod schedulable |
| PreFilter | `pre_filter(state, pod, nodes)` | None, Status, or PreFilterResult (a restriction to some nodes) |
| PreFilter extensions | `add_pod(state, pod, added, node)`, `remove_pod(…)` | Status or None |
| Filter | `filter(state, pod, node)` | None or True: fits. Status, or a reason text: does not |
| PostFilter | `post_filter(state, pod, statuses)` | PostFilterResult (or None) and Status, or a Status alone |
| PreScore | `pre_score(state, pod, nodes)` | Status or None |
| Score | `score(state, pod, node)` | an int (or a Status for a fault) |
| NormalizeScore | `normalize_scores(state, pod, scores)` | changes the scores in place, each to within 0..100 |
| Reserve | `reserve(state, pod, node_name)`, `unreserve(…)` | Status or None |
| Permit | `permit(state, pod, node_name)` | Status or None; PermitResult: Wait with a timeout in seconds |
| PreBind | `pre_bind_pre_flight(state, pod, node_name)`, `async pre_bind(…)` | Status or None |
| Bind | `async bind(state, pod, node_name)` | Status; Skip leaves it to the next one |
| PostBind | `post_bind(state, pod, node_name)` | nothing |

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
    """The only nodes worth examining; they need not exist."""

    node_names: frozenset[str]


class PostFilterResult(msgspec.Struct, frozen=True):
    """Which node PostFilter nominates: a name, "" to drop the nomination, None to leave it as it is."""

    nominated_node: str | None = None
    #: How the plugin came to it, in a form of its own; for explanations.
    report: object = None


class PermitResult(msgspec.Struct, frozen=True):
    """A permit answer with the time the pod may wait at most."""

    status: Status
    timeout_seconds: float = 0.0


class NodeScore(msgspec.Struct):
    """One feasible node's score, as NormalizeScore sees and changes it."""

    name: str
    score: int


class QueuedPod(Protocol):
    """A pod in the active queue, as a QueueSort plugin sees it."""

    @property
    def pod(self) -> api.Pod:
        """The newest version that the queue has seen."""

    @property
    def timestamp(self) -> int:
        """When the pod was added to the queue, or came back from its last attempt; microseconds of a monotonic clock."""

    @property
    def attempts(self) -> int:
        """How often the pod has been tried."""


class NodeStatusReader(Protocol):
    """Why no node was feasible, as a PostFilter plugin reads it."""

    @property
    def groups(self) -> dict[Status, list[str]]:
        """The names of the examined nodes by status."""

    @property
    def absent(self) -> Status | None:
        """The one status of all nodes that were not examined."""

    def counts(self) -> Iterable[tuple[Status, int]]:
        """The number of examined nodes by status; cheaper than their names."""

    def of(self, node: str) -> Status | None:
        """Why the pod does not fit on the node of that name."""

    def __len__(self) -> int:
        """Number of examined nodes that failed."""


StatusAnswer: TypeAlias = Status | None
"""None is success."""
RejectionAnswer: TypeAlias = Status | str | bool | None
"""None and True are success, a text is the reason of a rejection."""
PostFilterAnswer: TypeAlias = tuple[PostFilterResult | None, Status | None] | Status

# A method with the cycle's state, or without.
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
    """The base of every plugin: a unique name, used in configuration, messages and metrics; and the kinds of objects that it
    needs besides those that the scheduler watches anyway (`framework.watching.WATCHED_KINDS`)."""

    name: ClassVar[str] = ""
    #: Custom resources, as a rule: `steersman.api.custom`. They are watched, `handle.objects` lists them, and a plugin that
    #: registers for their events is told of them.
    kinds: ClassVar[tuple[type[api.Object], ...]] = ()
    #: Kinds that the plugin reads through `handle.client`, and that nobody watches for it: simulations load them, and `doctor`
    #: checks the rights to them.
    reads: ClassVar[tuple[type[api.Object], ...]] = ()


@runtime_checkable
class ConcernsSomePods(Protocol):
    """May be implemented by a PreFilter or PreScore plugin that has nothing to do for most pods.

    `concerns(pod)` must depend on nothing but the pod's shape (namespace and scheduling-relevant spec). False: PreFilter
    and PreScore would say Skip for every such pod, and Reserve and PreBind would do nothing, so none of them is asked.
    """

    def concerns(self, pod: PodInfo) -> bool: ...


class PreEnqueuePlugin(Plugin):
    """Decides whether a pod may enter the active queue."""

    pre_enqueue: Callable[[PodInfo], RejectionAnswer]


@runtime_checkable
class TellsReleasedPods(Protocol):
    """May be implemented by a PreEnqueue plugin that holds many pods back at once and knows whom an event sets free.

    `released_by(event, old, new)` names, by uid, the pods that it would let pass now and that its gate may have held back
    until this event or before; uids of pods that it does not hold back do no harm. Others that it gates stay where they are:
    neither it nor the hints of other plugins are asked about them. Only events that the plugin registers for are told.
    """

    def released_by(self, event: ClusterEvent, old: object, new: object, /) -> Collection[str]: ...


class QueueSortPlugin(Plugin):
    """Orders the active queue. A profile has exactly one, and all profiles have the same."""

    #: Has one of the two. Smaller comes first; the first of several parts must be hashable.
    sort_key: Callable[[QueuedPod], tuple[Any, ...]]
    less: Callable[[QueuedPod, QueuedPod], bool]


class EnqueueExtensions(Plugin):
    """Names the events after which a pod that this plugin rejected is worth another attempt."""

    def events_to_register(self) -> Iterable[ClusterEventWithHint]:
        return ()


class BackgroundPlugin(Plugin):
    """Knows something from outside of the cluster, and asks for it again from time to time: metrics, prices, a model.

    `refresh` is awaited before the first pod is scheduled and from then on every `period_seconds`, beside the scheduling and in
    its thread: it may wait for the network, but must not compute for long. One that takes longer than `deadline_seconds` is
    cancelled; one that fails is logged, and what the plugin knew before is up to the plugin. The end of the process cancels a
    refresh that is under way. A simulation, whose time is virtual, refreshes once, before its first decision.
    """

    period_seconds: float = 60.0
    deadline_seconds: float = 10.0

    #: True: pods that this plugin rejected are worth another attempt.
    refresh: Callable[[], Awaitable[bool | None]]


class PreFilterPlugin(Plugin):
    """Looks at the pod once before the nodes are examined; may reject it, restrict the nodes, or ask to be skipped."""

    pre_filter: _PreFilter
    #: Optional: keep what `pre_filter` wrote into the state in step with a pod that a what-if evaluation adds or removes.
    add_pod: _OtherPod
    remove_pod: _OtherPod


class FilterPlugin(Plugin):
    """Says whether the pod fits on one node."""

    filter: _Filter


class PostFilterPlugin(Plugin):
    """Runs when no node fits; may make room."""

    post_filter: _PostFilter


class PreScorePlugin(Plugin):
    """Looks at all feasible nodes once before they are scored."""

    pre_score: _PodAndNodes


class ScorePlugin(Plugin):
    """Ranks one feasible node, 0..100 after normalisation."""

    score: _Score
    #: Optional.
    normalize_scores: _Normalize


class ReservePlugin(Plugin):
    """Keeps plugin state in step with the assumed pod; `unreserve` must undo `reserve` and must not fail."""

    reserve: _Reserve
    unreserve: _Reserve


class PermitPlugin(Plugin):
    """Approves, delays or denies the binding."""

    permit: _Permit


class PreBindPlugin(Plugin):
    """Does the work that must precede the binding."""

    pre_bind: _Binding
    #: Optional: Skip says that there is nothing to do for this pod.
    pre_bind_pre_flight: _PreFlight


class BindPlugin(Plugin):
    """Binds the pod to the node."""

    bind: _Binding


class PostBindPlugin(Plugin):
    """Is told of a binding."""

    post_bind: _PostBind


def invalid_score(plugin: str, score: int) -> Status:
    """The status of a plugin whose score is out of bounds after normalisation."""
    text = (
        f'applying score defaultWeights on Score plugins: plugin "{plugin}" returns an invalid score {score}, it should in '
        f"the range of [{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing"
    )
    return Status(Code.ERROR, (text,), plugin)


def default_normalize_score(max_priority: int, reverse: bool, scores: Sequence[NodeScore]) -> None:
    """Scales scores in place to 0..max_priority relative to the greatest; reversed for "lower is better"."""
    greatest = max((s.score for s in scores), default=0)
    if greatest <= 0:
        if reverse:
            for entry in scores:
                entry.score = max_priority
        return
    for entry in scores:
        # Toward zero, as Go divides: negative weights of an added node affinity make negative scores.
        scaled = max_priority * abs(entry.score) // greatest * (1 if entry.score > 0 else -1)
        entry.score = max_priority - scaled if reverse else scaled
