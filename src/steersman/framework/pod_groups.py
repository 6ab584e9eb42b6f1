# SPDX-License-Identifier: Apache-2.0
"""Pod groups as plugins see them: the group that is being scheduled, the state of all groups, and
the extension points of a group's scheduling cycle.

    PlacementGenerate ─► for each placement: members one by one, PlacementFeasible after each
                      ─► PlacementScore ─► Reserve, Permit and binding of the members
                      └► PodGroupPostFilter, if no placement is feasible
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import msgspec

from steersman import api
from steersman.framework.cycle_state import CycleState
from steersman.framework.events import ClusterEvent
from steersman.framework.plugin import Plugin
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status


class GroupKind(StrEnum):
    POD_GROUP = "podgroup"
    COMPOSITE = "compositepodgroup"


class GroupKey(NamedTuple):
    """Identity of a PodGroup or CompositePodGroup."""

    kind: GroupKind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.namespace}/{self.name}"


class PodGroupInfo(msgspec.Struct, eq=False):
    """A group that is being scheduled, with its children: the node of a tree whose leaves are
    PodGroups."""

    key: GroupKey
    #: The PodGroup or CompositePodGroup; None if it was not found.
    group: api.PodGroup | api.CompositePodGroup | None = None
    #: Child groups, ordered by creation time and then by name. Empty for a PodGroup.
    children: list[PodGroupInfo] = []
    #: Members of a leaf that are to be scheduled in this cycle, in queue order.
    unscheduled_pods: list[PodInfo] = []

    @property
    def is_composite(self) -> bool:
        return self.key.kind is GroupKind.COMPOSITE

    def leaves(self) -> Iterator[PodGroupInfo]:
        """Yield the PodGroups of the tree in the order of the tree."""
        waiting = [self]
        while waiting:
            group = waiting.pop()
            if not group.is_composite:
                yield group
            waiting += reversed(group.children)

    def pods(self) -> Iterator[PodInfo]:
        """Yield the members of all leaves that are to be scheduled in this cycle."""
        for leaf in self.leaves():
            yield from leaf.unscheduled_pods


class PodGroupState(Protocol):
    """Members of one PodGroup that the scheduler knows, by uid."""

    @property
    def unscheduled(self) -> Mapping[str, api.Pod]:
        """Members without a node."""

    @property
    def assumed(self) -> Mapping[str, api.Pod]:
        """Members that the scheduler has assumed on a node and that are not bound yet."""

    @property
    def assigned(self) -> Mapping[str, api.Pod]:
        """Members that are bound to a node."""

    @property
    def scheduled_count(self) -> int:
        """Number of assumed and assigned members."""

    @property
    def count(self) -> int:
        """Number of members."""


class PodGroups(Protocol):
    """All groups of the cluster and their members; `handle.pod_groups`."""

    #: Increases with every change of groups and members.
    version: int

    def pod_group(self, namespace: str, name: str) -> api.PodGroup | None: ...

    def composite(self, namespace: str, name: str) -> api.CompositePodGroup | None: ...

    def state(self, namespace: str, name: str) -> PodGroupState:
        """Return the members of a PodGroup; an empty state if none is known."""

    def children(self, key: GroupKey) -> Sequence[GroupKey]:
        """Return the existing child groups of a CompositePodGroup, ordered by creation time and
        then by name."""

    def group(self, key: GroupKey) -> api.PodGroup | api.CompositePodGroup | None: ...

    def root(self, key: GroupKey) -> GroupKey | None:
        """Return the root of the hierarchy that the group belongs to; None if an ancestor does not
        exist or the hierarchy has a cycle."""


class Placement(msgspec.Struct, frozen=True):
    """A set of candidate nodes for all members of a group."""

    name: str
    node_names: tuple[str, ...]


class PreFilteredMembers(msgspec.Struct, eq=False):
    """Members that PreFilter was run for, in the state of a group's cycle: an entry under `KEY`."""

    KEY: ClassVar[str] = "PreFilteredMembers"

    #: By pod key, the plugins that skipped the member until PreFilter ended or rejected it; None if
    #: the member got a node.
    skipped: dict[str, frozenset[str] | None] = msgspec.field(default_factory=dict)

    @classmethod
    def of_cycle(cls, state: CycleState) -> PreFilteredMembers:
        """Return the entry of the cycle of a group, which is created if it is missing."""
        known = state.read(cls.KEY, cls)
        if known is None:
            known = cls()
            state.write(cls.KEY, known)
        return known

    def is_skipped(self, pod: PodInfo, plugin: str) -> bool:
        """Return whether the plugin has nothing to do for the member, whose PreFilter reached
        it."""
        plugins = self.skipped.get(pod.key, frozenset())
        return plugins is None or plugin in plugins


class PlacementProgress(NamedTuple):
    """Result of the members tried so far in one placement; children count for a composite group."""

    #: Members that have not been tried yet.
    remaining: int
    #: Members that are running, assumed or were placed.
    scheduled: int


class ProposedAssignment(NamedTuple):
    """A member that was placed in a trial of the group."""

    pod: PodInfo
    node_name: str
    state: CycleState


class PodGroupAssignments(msgspec.Struct, frozen=True):
    """Members that were placed in one placement."""

    placement: Placement | None
    assignments: tuple[ProposedAssignment, ...] = ()


class PlacementScore(msgspec.Struct):
    """Score of one placement, which NormalizePlacementScores may change."""

    placement: Placement
    score: int


class PodGroupPostFilterResult(msgspec.Struct, frozen=True):
    """Nominations made by PodGroupPostFilter: pod key → node name."""

    nominated_nodes: Mapping[str, str] = {}
    #: How the plugin computed the result, in a type of the plugin; shown in explanations.
    report: object = None


@runtime_checkable
class HelpsGroups(Protocol):
    """Optional method of PreEnqueue plugins whose hints concern whole trees of groups.

    `helped_groups(event, old, new)` returns the roots of the trees whose members the hints of the
    plugin would queue. The hints are not called for members of other trees that wait because of
    this plugin alone. It is called only for events that the plugin registers for.
    """

    def helped_groups(self, event: ClusterEvent, old: object, new: object, /) -> Collection[GroupKey]: ...


ScheduleGroup = Callable[[], tuple[PodGroupAssignments, Status]]
"""Simulates the scheduling of the group on the current snapshot; nothing stays assumed."""


class PlacementGeneratePlugin(Plugin):
    """Divides the nodes into placements, each a candidate for the whole group."""

    #: (state, group, parent placement) → the placements, or the reason why there are none.
    generate_placements: Callable[[CycleState, PodGroupInfo, Placement], Sequence[Placement] | Status]


class PlacementFeasiblePlugin(Plugin):
    """Decides before the first and after each member whether the group can still succeed.

    Success: the members placed so far suffice. Wait: not yet. Unschedulable: more members cannot
    help. Called for the plugins of a profile that have it, at whatever point they are enabled.
    """

    placement_feasible: Callable[[CycleState, PodGroupInfo, PlacementProgress], Status | None]
    #: Whether a group that is not rejected is never rejected because another member was placed.
    #: Then the plugin is called once for several members that are placed together.
    tolerates_placed_members: ClassVar[bool] = False


class PlacementScorePlugin(Plugin):
    """Scores a feasible placement, 0..100 after normalisation."""

    score_placement: Callable[[CycleState, PodGroupInfo, PodGroupAssignments], int | Status]
    #: Optional.
    normalize_placement_scores: Callable[[CycleState, PodGroupInfo, Sequence[PlacementScore]], Status | None]


class PodGroupPostFilterPlugin(Plugin):
    """Runs if a group is unschedulable; may make it schedulable, for example by preemption."""

    pod_group_post_filter: Callable[
        [CycleState, PodGroupInfo, ScheduleGroup], tuple[PodGroupPostFilterResult | None, Status | None] | Status
    ]
