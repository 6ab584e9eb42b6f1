# SPDX-License-Identifier: Apache-2.0
"""The base of the controllers that have pods of their own: hears of them, adopts pods that are selected and belong to nobody,
and releases those that are not selected any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar, cast

import msgspec

from steersman.api import LabelSelector, Object, OwnerReference, Pod, key
from steersman.api.selectors import Selector
from steersman.controllers.controller import Cluster, Controller, controller_reference
from steersman.controllers.owned_pods import OwnedPods, OwnerSelectors, owned_pods
from steersman.controllers.pod_template import PodTemplates
from steersman.embedded import EventType, Pods
from steersman.graph_copy import copied_attributes, two_levels
from steersman.grouped_dict import GroupedDict

T = TypeVar("T", bound=Object)

_replace = msgspec.structs.replace


@copied_attributes(_candidates=two_levels)
class PodOwnerController(Controller, Generic[T]):
    """Enqueues the owner whenever one of its pods changes, or one comes that it may want to adopt."""

    #: The kind of the owners.
    KIND: type[T]

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self.pods = Pods(self.store)
        self.templates = PodTemplates(self.store)
        self._selectors = OwnerSelectors()
        self._index: OwnedPods | None = None
        #: Keys of pods without a controller that the owner of a key may want to adopt.
        self._candidates: dict[str, dict[str, None]] = {}
        #: By namespace, the keys of owners for which nobody has looked at the pods that have no controller.
        self._new_owners: GroupedDict[str, str, None] = GroupedDict()
        self.store.subscribe(self._on_owner, (self.KIND,))

    @property
    def owned(self) -> OwnedPods:
        """All pods by their owners; there is no owner to ask for before it is made."""
        assert self._index is not None
        return self._index

    def selector_of(self, owner: T) -> LabelSelector | None:
        """The selector of the owner's pods."""
        selector: LabelSelector | None = owner.spec.selector  # type: ignore[attr-defined]
        return selector

    def owner_came(self, owner: T) -> None:
        """An owner is new, or has changed."""

    def owner_went(self, owner: T) -> None:
        """An owner is gone."""

    def pod_changed(self, owner: OwnerReference, before: Pod | None, after: Pod | None) -> None:
        """A pod of an owner has come, changed or gone."""

    def may_adopt(self, owner: T, pod: Pod) -> bool:
        """Whether a pod that is selected can be the owner's; those that have ended, or are to go, never can."""
        return True

    # -- claiming ----------------------------------------------------------------------------------------------------

    def adopt(self, owner: T, selector: Selector) -> None:
        """Makes the owner that of the selected pods which belong to nobody."""
        name, namespace = key(owner), owner.metadata.namespace
        if name in self._new_owners.of(namespace):
            self._look_for_orphans(namespace)
        for pod_name in self._candidates.pop(name, ()):
            pod = self.owned.orphans(namespace).get(pod_name)  # as it is after the others were written
            if pod is None or pod.metadata.deletion_timestamp is not None:
                continue
            if selector.matches(pod.metadata.labels) and self.may_adopt(owner, pod):
                self._write_owners(pod, (*pod.metadata.owner_references, controller_reference(owner)))

    def _look_for_orphans(self, namespace: str) -> None:
        """Finds the pods that new owners of the namespace may want to adopt, for all of these owners in one pass: where there
        are many of both, trying each with each would take long. Pods have few different sets of labels."""
        new = set(self._new_owners.of(namespace))
        for name in new:
            self._new_owners.remove(namespace, name)
        owners_of: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for pod_name, pod in self.owned.orphans(namespace).items():
            labels = tuple(pod.metadata.labels.items())
            owners = owners_of.get(labels)
            if owners is None:
                matching = self._selectors.matching(namespace, pod.metadata.labels)
                owners = owners_of[labels] = [name for name in matching if name in new]
            for name in owners:
                self._candidates.setdefault(name, {})[pod_name] = None

    def release(self, owner: T, pods: Iterable[Pod]) -> None:
        """Makes pods belong to nobody."""
        for pod in pods:
            self._write_owners(
                pod, tuple(ref for ref in pod.metadata.owner_references if ref.uid != owner.metadata.uid)
            )

    def _write_owners(self, pod: Pod, owners: tuple[OwnerReference, ...]) -> None:
        self.store.update(_replace(pod, metadata=_replace(pod.metadata, owner_references=owners)))

    # -- events ------------------------------------------------------------------------------------------------------

    def _on_owner(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is None:
            self._forget(cast("T", old))
        else:
            owner = cast("T", new)
            if self._index is None:
                self._index = owned_pods(self.store)
                self._index.listen(self.KIND, self._on_pod, self._on_orphan)
            if old is None or self.selector_of(cast("T", old)) != self.selector_of(owner):
                self._selectors.put(key(owner), owner.metadata.namespace, self.selector_of(owner))
            if old is None:
                self._new_owners.put(owner.metadata.namespace, key(owner), None)
            self.owner_came(owner)
        self.enqueue(key(cast("T", new or old)))

    def _forget(self, owner: T) -> None:
        self._selectors.remove(key(owner))
        self._candidates.pop(key(owner), None)
        self._new_owners.remove(owner.metadata.namespace, key(owner))
        self.owner_went(owner)

    def _on_pod(self, owner: OwnerReference, before: Pod | None, after: Pod | None) -> None:
        self.pod_changed(owner, before, after)
        self.enqueue(f"{cast('Pod', after or before).metadata.namespace}/{owner.name}")

    def _on_orphan(self, pod: Pod) -> None:
        for name in self._selectors.matching(pod.metadata.namespace, pod.metadata.labels):
            self._candidates.setdefault(name, {})[key(pod)] = None
            self.enqueue(name)
