# SPDX-License-Identifier: Apache-2.0
"""Namespace controller: deletes a terminating namespace's contents and its finalizer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from steersman.api import Condition, Namespace, Object, Pod
from steersman.cluster.controllers.controller import Cluster, Controller, group
from steersman.cluster.store import EventType, NotFound, StatusError, delete
from steersman.cluster.store.finalizers import KUBERNETES
from steersman.cluster.store.pods import with_condition

CONTENT_FAILURE: Final = "NamespaceDeletionContentFailure"
CONTENT_REMAINING: Final = "NamespaceContentRemaining"
FINALIZERS_REMAINING: Final = "NamespaceFinalizersRemaining"
FINE: Final = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    CONTENT_FAILURE: ("ContentDeleted", "All content successfully deleted, may be waiting on finalization"),
    CONTENT_REMAINING: ("ContentRemoved", "All content successfully removed"),
    FINALIZERS_REMAINING: ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Condition of a terminating namespace → reason and message without problems."""

_RETRY_SECONDS: Final = 5.0

_replace = msgspec.structs.replace


class NamespaceController(Controller):
    """Namespace controller; keys are names."""

    NAME = "namespace"

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._terminating: set[str] = set()
        self._is_following_content = False
        self.store.subscribe(self._on_namespace, (Namespace,))

    def _on_namespace(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._terminating.discard(old.metadata.name)
        elif new.metadata.deletion_timestamp is not None:
            self._terminating.add(new.metadata.name)
            self._follow_content()
            self.enqueue(new.metadata.name)

    def _follow_content(self) -> None:
        """Subscribe to all kinds when the first namespace is deleted, to avoid the cost before."""
        if not self._is_following_content:
            self._is_following_content = True
            self.store.subscribe(self._on_content, None)

    def _on_content(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None and old.metadata.namespace in self._terminating:
            self.enqueue(old.metadata.namespace)

    def reconcile(self, name: str) -> None:
        namespace = self.store.find(Namespace, name)
        if namespace is None or namespace.metadata.deletion_timestamp is None:
            return
        if KUBERNETES not in namespace.spec.finalizers:
            return
        troubles = list[str]()
        left = self._delete_content(name, troubles)
        self._write_conditions(name, troubles, left)
        if troubles:
            self.enqueue_after(name, _RETRY_SECONDS, is_background=True)
        elif not left:
            self._finalize(name)

    def _delete_content(self, name: str, troubles: list[str]) -> Sequence[Object]:
        """Delete the namespace's contents; return what remains. Other objects stay until all pods
        are gone."""
        pods = self._delete_all([Pod], name, troubles)
        if pods:
            return pods
        others = [kind for kind in self.store.kinds if kind.NAMESPACED and kind is not Pod]
        return self._delete_all(others, name, troubles)

    def _delete_all(self, kinds: Iterable[type[Object]], namespace: str, troubles: list[str]) -> list[Object]:
        left = list[Object]()
        for kind in kinds:
            of_kind = self.store.objects(kind)
            for key in [key for key, obj in of_kind.items() if obj.metadata.namespace == namespace]:
                self._delete_one(kind, key, troubles)
                obj = of_kind.get(key)
                if obj is not None:
                    left.append(obj)
        return left

    def _delete_one(self, kind: type[Object], key: str, troubles: list[str]) -> None:
        try:
            delete(self.store, kind, key, propagation="Background")
        except NotFound:
            return
        except StatusError as refusal:
            troubles.append(refusal.message)

    def _write_conditions(self, name: str, troubles: list[str], left: Sequence[Object]) -> None:
        namespace, now = self.store.get(Namespace, name), self.store.timestamp()
        conditions = namespace.status.conditions
        # While pods are left, upstream does not count other objects and reports that none remain.
        counted = [] if left and isinstance(left[0], Pod) else left
        for condition in _conditions(sorted(troubles), counted):
            conditions = with_condition(conditions, condition, now)
        self.store.update_status(_replace(namespace, status=_replace(namespace.status, conditions=conditions)))

    def _finalize(self, name: str) -> None:
        namespace = self.store.get(Namespace, name)
        finalizers = tuple(known for known in namespace.spec.finalizers if known != KUBERNETES)
        self.store.update(_replace(namespace, spec=_replace(namespace.spec, finalizers=finalizers)))


def _conditions(troubles: list[str], left: Sequence[Object]) -> Iterable[Condition]:
    complaints = dict[str, tuple[str, str]]()
    if troubles:
        text = f"Failed to delete all resource types, {len(troubles)} remaining: {', '.join(troubles)}"
        complaints[CONTENT_FAILURE] = ("ContentDeletionFailed", text)
    if left:
        complaints[CONTENT_REMAINING] = ("SomeResourcesRemain", f"Some resources are remaining: {_kinds(left)}")
    finalizers = Counter(finalizer for obj in left for finalizer in obj.metadata.finalizers)
    if finalizers:
        listed = ", ".join(sorted(f"{name} in {count} resource instances" for name, count in finalizers.items()))
        text = f"Some content in the namespace has finalizers remaining: {listed}"
        complaints[FINALIZERS_REMAINING] = ("SomeFinalizersRemain", text)
    for kind, fine in FINE.items():
        reason, message = complaints.get(kind, fine)
        yield Condition(type=kind, status="True" if kind in complaints else "False", reason=reason, message=message)


def _kinds(left: Sequence[Object]) -> str:
    counts = Counter(type(obj) for obj in left)
    texts = (f"{kind.PLURAL}.{group(kind.API_VERSION)} has {n} resource instances" for kind, n in counts.items())
    return ", ".join(sorted(texts))
