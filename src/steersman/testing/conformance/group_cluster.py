# SPDX-License-Identifier: Apache-2.0
"""API server of a scenario with pod groups: stores objects and the scheduler's writes, and passes
changes on.

    writes of the scheduler ─► GroupWriter ─► StoredObjects ─► take_changes() ─► ingest

Victims keep running until the replay deletes them. A bound pod runs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, TypeVar

import msgspec

from steersman import api
from steersman.base import SteersmanError
from steersman.framework import Failure, PodInfo, Status
from steersman.scheduler.what_if import DiscardingWriter

T = TypeVar("T", bound=api.Object)

_replace = msgspec.structs.replace
_FIRST_START: Final = datetime(2031, 1, 1, tzinfo=UTC)
NOT_FOUND: Final = '{}.{} "{}" not found'


class Change(NamedTuple):
    """A change for the scheduler's informers."""

    obj: api.Object
    is_deletion: bool


class StoredObjects:
    """Objects by kind and name, and the changes that the scheduler has not seen yet."""

    def __init__(self) -> None:
        self._objects: dict[tuple[type[api.Object], str], api.Object] = {}
        self._changes: list[Change] = []
        self._version = 0

    def get(self, kind: type[T], key: str) -> T | None:
        found = self._objects.get((kind, key))
        return found if isinstance(found, kind) else None

    def by_name(self, kind: type[T]) -> list[T]:
        """Return the objects of a kind, ordered by name."""
        return sorted(self._objects_of(kind), key=api.key)

    def _objects_of(self, kind: type[T]) -> Iterator[T]:
        return (obj for obj in self._objects.values() if isinstance(obj, kind))

    def put(self, obj: T) -> T:
        """Store a new version of the object."""
        self._version += 1
        stored = _replace(obj, metadata=_replace(obj.metadata, resource_version=str(self._version)))
        self._objects[type(obj), api.key(obj)] = stored
        self._changes.append(Change(stored, is_deletion=False))
        return stored

    def delete(self, kind: type[api.Object], key: str) -> None:
        """Delete the object; a deleted pod leaves its claims, and unused claims lose their
        allocation."""
        deleted = self._objects.pop((kind, key), None)
        if deleted is None:
            return
        self._changes.append(Change(deleted, is_deletion=True))
        if isinstance(deleted, api.Pod):
            for claim in self.by_name(api.ResourceClaim):
                self._release(claim, deleted.metadata.uid)

    def _release(self, claim: api.ResourceClaim, uid: str) -> None:
        users = tuple(user for user in claim.status.reserved_for if user.uid != uid)
        if len(users) < len(claim.status.reserved_for):
            allocation = claim.status.allocation if users else None
            self.put(_replace(claim, status=_replace(claim.status, reserved_for=users, allocation=allocation)))

    def take_changes(self) -> list[Change]:
        """Return the changes since the last call."""
        changes, self._changes = self._changes, []
        return changes


class GroupWriter(DiscardingWriter):
    """Implements `ApiWriter` on stored objects, and records bindings and failures."""

    def __init__(self, objects: StoredObjects, start_index: Mapping[str, int]) -> None:
        """`start_index` determines the start time of a bound pod by its name."""
        self._objects = objects
        self._start_index = start_index
        #: Node by name of a bound pod, and the latest failure by name of a pod; emptied for each
        #: cycle.
        self.bound: dict[str, str] = {}
        self.failures: dict[str, Failure] = {}

    def begin_cycle(self) -> None:
        self.bound.clear()
        self.failures.clear()

    # -- pods ------------------------------------------------------------------------------------

    async def bind(self, pod: PodInfo, node_name: str) -> Status | None:
        stored = self._objects.get(api.Pod, pod.key)
        if stored is not None:
            self.bound[pod.key] = node_name
            status = _replace(
                stored.status, phase="Running", nominated_node_name="", start_time=self._start_time(pod.key)
            )
            self._objects.put(_replace(stored, spec=_replace(stored.spec, node_name=node_name), status=status))
        return None

    def _start_time(self, pod: str) -> str:
        start = _FIRST_START + timedelta(seconds=self._start_index.get(pod, 0))
        return start.strftime("%Y-%m-%dT%H:%M:%SZ")

    async def patch_pod_status(
        self, pod: api.Pod, *, condition: api.Condition | None = None, nominated_node_name: str | None = None
    ) -> bool:
        stored = self._objects.get(api.Pod, api.key(pod))
        if stored is None:
            return False
        if nominated_node_name is not None:
            status = _replace(stored.status, nominated_node_name=nominated_node_name)
            self._objects.put(_replace(stored, status=status))
        return True

    async def delete_pod(self, pod: api.Pod) -> bool:
        return True

    def report_failure(self, failure: Failure) -> None:
        name = api.key(failure.pod)
        self.failures[name] = failure
        stored = self._objects.get(api.Pod, name)
        if stored is None:
            return
        nominated = stored.status.nominated_node_name if failure.nomination is None else failure.nomination.node
        conditions = with_condition(stored.status.conditions, failure.condition)
        self._objects.put(
            _replace(stored, status=_replace(stored.status, nominated_node_name=nominated, conditions=conditions))
        )

    # -- claims and groups -----------------------------------------------------------------------

    async def change_resource_claim(
        self, claim: api.ResourceClaim, change: Callable[[api.ResourceClaim], api.ResourceClaim]
    ) -> api.ResourceClaim:
        changed = change(claim)
        stored = self._objects.get(api.ResourceClaim, api.key(claim))
        if stored is None:
            raise SteersmanError(NOT_FOUND.format("resourceclaims", "resource.k8s.io", claim.metadata.name))
        is_outdated = stored.metadata.resource_version != claim.metadata.resource_version
        return self._objects.put(change(stored) if is_outdated else changed)

    def report_group_condition(self, group: api.PodGroup, condition: api.Condition) -> None:
        """Set the condition of a group."""
        stored = self._objects.get(type(group), api.key(group))
        if stored is not None:
            conditions = with_condition(stored.status.conditions, condition)
            self._objects.put(_replace(stored, status=_replace(stored.status, conditions=conditions)))


def with_condition(conditions: tuple[api.Condition, ...], condition: api.Condition) -> tuple[api.Condition, ...]:
    """Return the conditions with this one instead of an earlier one of its type."""
    return (*(one for one in conditions if one.type != condition.type), condition)
