# SPDX-License-Identifier: Apache-2.0
"""Index of pods by controller and of orphans, shared by all controllers.

Created with the first workload, so that clusters of plain pods do not pay for it. `OwnerSelectors`
finds the owners that may adopt an orphan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from steersman.api import NOTHING, LabelSelector, Object, OwnerReference, Pod, Selector, from_label_selector, key
from steersman.base import GroupedDict, InputError
from steersman.base.graph_copy import copied_attributes, shallow
from steersman.cluster.controllers.controller import controller_of
from steersman.cluster.store import EventType, Store

OwnedPodListener: TypeAlias = Callable[[OwnerReference, Pod | None, Pod | None], None]
"""Called with the pod's controller, and the pod before and after; None if not owned then."""
OrphanListener: TypeAlias = Callable[[Pod], None]
"""Called with an orphan that is new, newly orphaned, or relabelled."""


class OwnedPods:
    """Index of pods by controller; see `list_owned_pods`."""

    def __init__(self, store: Store) -> None:
        #: Controller uid → pod key → pod, in order of arrival.
        self._owned: GroupedDict[str, str, Pod] = GroupedDict()
        #: Namespace → pod key → pod.
        self._orphans: GroupedDict[str, str, Pod] = GroupedDict()
        self._listeners: dict[str, list[OwnedPodListener]] = {}
        self._orphan_listeners: list[OrphanListener] = []
        store.subscribe(self._on_pod, (Pod,))

    def owned_by(self, uid: str) -> Mapping[str, Pod]:
        """Return the pods of the controller with this uid by key, as a live view."""
        return self._owned.entries_of(uid)

    def orphans(self, namespace: str) -> Mapping[str, Pod]:
        """Return the pods of the namespace without a controller by key, as a live view."""
        return self._orphans.entries_of(namespace)

    def listen(self, kind: type[Object], on_owned: OwnedPodListener, on_orphan: OrphanListener | None = None) -> None:
        """Subscribe to pods owned by controllers of a kind, and to orphans."""
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


def list_owned_pods(store: Store) -> OwnedPods:
    """Return the index of the store's pods, created at the first call."""
    index = store.indexes.get(OwnedPods)
    if not isinstance(index, OwnedPods):
        index = store.indexes[OwnedPods] = OwnedPods(store)
    return index


@copied_attributes(_places=shallow)
class OwnerSelectors:
    """Index of objects of one kind by selector, to find those that select given labels."""

    def __init__(self) -> None:
        #: Objects by namespace and a required label; None for selectors without required values.
        self._by_label: GroupedDict[tuple[str, tuple[str, str] | None], str, Selector] = GroupedDict()
        self._places: dict[str, tuple[str, tuple[str, str] | None]] = {}

    def put(self, name: str, namespace: str, selector: LabelSelector | None) -> None:
        """Add an object, or update its selector."""
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
        """Yield the keys of objects that select these labels."""
        for label in (None, *labels.items()):
            for name, selector in self._by_label.entries_of((namespace, label)).items():
                if selector.matches(labels):
                    yield name


def compiled_selector(selector: LabelSelector | None) -> Selector:
    """Compile a selector; an invalid one, which no API server admits, selects nothing."""
    try:
        return from_label_selector(selector)
    except InputError:
        return NOTHING
