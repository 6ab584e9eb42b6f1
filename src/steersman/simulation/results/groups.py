# SPDX-License-Identifier: Apache-2.0
"""Pod groups at the end of a run: how many members have a node, where, and why a group is pending.

PodGroups and their members in the scheduler's state, conditions in the store ─► GroupResult
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from steersman import api
from steersman.base import counted
from steersman.cluster.store import Store
from steersman.framework import GroupKey, GroupKind
from steersman.scheduler.state import GroupMembers, PodGroupTable

REASON_NOT_FOUND: Final = "NotFound"
REASON_INCOMPLETE: Final = "Incomplete"
NOT_FOUND: Final = "the PodGroup does not exist"
SCHEDULED_ALONE: Final = (
    "{}, for example {}, {} scheduled on {} own because GenericWorkload is off; "
    "--feature-gates GenericWorkload=true schedules pod groups"
)


class GroupResult(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Outcome of one PodGroup."""

    #: `namespace/name`.
    group: str
    #: Number of members that exist and have not finished, and how many of them have a node.
    pods: int = msgspec.field(default_factory=int)  # a factory, so that 0 is not left out of JSON
    placed: int = msgspec.field(default_factory=int)
    #: Number of members that have to be scheduled together; None for the basic policy.
    min_count: int | None = None
    #: The root of its tree if that is another group, as `kind/namespace/name`.
    root: str = ""
    #: Key of the topology constraint, and its values on the nodes of the members.
    topology_key: str = ""
    domains: tuple[str, ...] = ()
    #: Why the group, or its other members, are pending; "" if all members have a node.
    reason: str = ""
    message: str = ""

    @property
    def is_pending(self) -> bool:
        """Whether fewer members have a node than have to be scheduled together."""
        return self.placed < (1 if self.min_count is None else self.min_count)


def group_results(store: Store, table: PodGroupTable | None) -> dict[str, GroupResult]:
    """Return the results of all groups that exist or have members, by `namespace/name`."""
    if table is None:
        return {}
    keys = {api.key(group): None for group in store.objects(api.PodGroup).values()}
    keys |= {f"{key.namespace}/{key.name}": None for key, _ in table.members()}
    return {key: _result(store, table, *key.split("/")) for key in keys}


def _result(store: Store, table: PodGroupTable, namespace: str, name: str) -> GroupResult:
    key, members = GroupKey(GroupKind.POD_GROUP, namespace, name), table.state(namespace, name)
    group, root = store.find(api.PodGroup, f"{namespace}/{name}"), table.root(key)
    gang = None if group is None else group.spec.scheduling_policy.gang
    min_count, topology_key = None if gang is None else gang.min_count, api.topology_key(group) if group else None
    reason, message = _pending(group, members, min_count)
    return GroupResult(
        group=f"{namespace}/{name}",
        pods=members.count,
        placed=members.scheduled_count,
        min_count=min_count,
        root="" if root in (None, key) else str(root),
        topology_key=topology_key or "",
        domains=tuple(sorted(set(_domains(store, members, topology_key)))) if topology_key else (),
        reason=reason,
        message=message,
    )


def _pending(group: api.PodGroup | None, members: GroupMembers, min_count: int | None) -> tuple[str, str]:
    if group is None:
        return REASON_NOT_FOUND, NOT_FOUND
    if members.count < (min_count or 0):
        return REASON_INCOMPLETE, f"needs {counted(min_count or 0, 'pod')} and has {members.count}"
    if not members.unscheduled:
        return "", ""
    conditions = [each for each in group.status.conditions if each.type == api.INITIALLY_SCHEDULED]
    return next(((each.reason, each.message) for each in conditions if each.status == "False"), ("", ""))


def _domains(store: Store, members: GroupMembers, topology_key: str) -> Iterator[str]:
    for pod in (*members.assigned.values(), *members.assumed.values()):
        node = store.find(api.Node, pod.spec.node_name)
        if node is not None and topology_key in node.metadata.labels:
            yield node.metadata.labels[topology_key]


def scheduled_alone(store: Store) -> Iterator[str]:
    """Yield a note if pods name a group and groups are not scheduled."""
    members = [
        pod
        for pod in store.objects(api.Pod).values()
        if pod.spec.scheduling_group is not None and pod.spec.scheduling_group.pod_group_name
    ]
    if members:
        are, their = ("is", "its") if len(members) == 1 else ("are", "their")
        pods = f"{counted(len(members), 'pod')} with spec.schedulingGroup"
        yield SCHEDULED_ALONE.format(pods, api.key(members[0]), are, their)
