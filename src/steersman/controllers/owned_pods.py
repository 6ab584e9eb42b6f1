# SPDX-License-Identifier: Apache-2.0
"""Which pods belong to which controller, and which to none: kept up to date with every write, one index for all controllers.

The index is made when the first workload appears, so that clusters of plain pods pay nothing for it. Objects that look for
pods without a controller are found by their selectors (`OwnerSelectors`), not by trying them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from steersman.api import LabelSelector, Object, OwnerReference, Pod, key
from steersman.api.selectors import NOTHING, Selector, from_label_selector
from steersman.controllers.controller import controller_of
from steersman.embedded import EventType, Store
from steersman.errors import InputError
from steersman.graph_copy import copied_attributes, shallow
from steersman.grouped_dict import GroupedDict

OwnedPodListener: TypeAlias = Callable[[OwnerReference, Pod | None, Pod | None], None]
"""Called with the pod's controller, and the pod before and after; None if it did not, or does not, belong to it."""
OrphanListener: TypeAlias = Callable[[Pod], None]
"""Called with a pod that has no controller and is new, newly without one, or has other labels."""


class OwnedPods:
    """The index of pods by their controller; `owned_pods` gives that of a store."""

    def __init__(self, store: Store) -> None:
        #: By uid of the controller, then by key, in the order in which they came.
        self._owned: GroupedDict[str, str, Pod] = GroupedDict()
        #: By namespace, then by key.
        self._orphans: GroupedDict[str, str, Pod] = GroupedDict()
        self._listeners: dict[str, list[OwnedPodListener]] = {}
        self._orphan_listeners: list[OrphanListener] = []
        store.subscribe(self._on_pod, (Pod,))

    def of(self, uid: str) -> Mapping[str, Pod]:
        """The pods whose controller has this uid, by key; to be read at once."""
        return self._owned.of(uid)

    def orphans(self, namespace: str) -> Mapping[str, Pod]:
        """The pods of the namespace that have no controller, by key; to be read at once."""
        return self._orphans.of(namespace)

    def listen(self, kind: type[Object], on_owned: OwnedPodListener, on_orphan: OrphanListener | None = None) -> None:
        """Tells of every change of pods that belong to controllers of a kind, and of pods that belong to nobody."""
        self._listeners.setdefault(kind.KIND, []).append(on_owned)
        if on_orphan is not None:
            self._orphan_listeners.append(on_orphan)

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        before = old if isinstance(old, Pod) else None
        after = new if isinstance(new, Pod) else None
        now = None if after is None else controller_of(after)
        if before is None or after is None:
            was = None if before is None else controller_of(before)
        elif before.metadata.owner_references is after.metadata.owner_references:
            was = now
        else:
            was = controller_of(before)
        if was is not None and now is not None and was.uid == now.uid:
            self._changed(now, before, after)
            return
        if before is not None:
            self._left(was, before)
        if after is not None:
            self._came(now, after, before)

    def _changed(self, owner: OwnerReference, before: Pod | None, after: Pod | None) -> None:
        if after is not None:
            self._owned.put(owner.uid, key(after), after)
        for listener in self._listeners.get(owner.kind, ()):
            listener(owner, before, after)

    def _left(self, owner: OwnerReference | None, pod: Pod) -> None:
        if owner is None:
            self._orphans.remove(pod.metadata.namespace, key(pod))
            return
        self._owned.remove(owner.uid, key(pod))
        self._changed(owner, pod, None)

    def _came(self, owner: OwnerReference | None, pod: Pod, before: Pod | None) -> None:
        if owner is not None:
            self._changed(owner, None, pod)
            return
        self._orphans.put(pod.metadata.namespace, key(pod), pod)
        was_orphan = before is not None and controller_of(before) is None
        if not was_orphan or before is None or before.metadata.labels != pod.metadata.labels:
            for listener in self._orphan_listeners:
                listener(pod)


def owned_pods(store: Store) -> OwnedPods:
    """The index of the store's pods, made at the first call."""
    index = store.indexes.get(OwnedPods)
    if not isinstance(index, OwnedPods):
        index = store.indexes[OwnedPods] = OwnedPods(store)
    return index


@copied_attributes(_places=shallow)
class OwnerSelectors:
    """Objects of one kind by what they select, so that those which select given labels are found without trying all."""

    def __init__(self) -> None:
        #: By namespace and one label that a selected object must have; None for selectors that require no value.
        self._by_label: GroupedDict[tuple[str, tuple[str, str] | None], str, Selector] = GroupedDict()
        self._places: dict[str, tuple[str, tuple[str, str] | None]] = {}

    def put(self, name: str, namespace: str, selector: LabelSelector | None) -> None:
        """Has the object of this key found by its selector, or by another one than before."""
        self.remove(name)
        compiled = compiled_selector(selector)
        if compiled.empty or compiled.requirements is None:
            return
        labels = selector.match_labels if selector is not None else {}
        place = self._places[name] = (namespace, next(iter(labels.items()), None))
        self._by_label.put(place, name, compiled)

    def remove(self, name: str) -> None:
        place = self._places.pop(name, None)
        if place is not None:
            self._by_label.remove(place, name)

    def matching(self, namespace: str, labels: Mapping[str, str]) -> Iterator[str]:
        """The keys of the objects that select an object with these labels."""
        for label in (None, *labels.items()):
            for name, selector in self._by_label.of((namespace, label)).items():
                if selector.matches(labels):
                    yield name


def compiled_selector(selector: LabelSelector | None) -> Selector:
    """The selector, one that selects nothing if it breaks the rules: an API server would have refused it."""
    try:
        return from_label_selector(selector)
    except InputError:
        return NOTHING
