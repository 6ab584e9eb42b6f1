# SPDX-License-Identifier: Apache-2.0
"""The selector of default constraints, derived from the services and the controller of a pod.

Selectors are cached, because every new pod needs one. While services and controllers are unchanged,
the selector depends on the controller and on the labels that services of the namespace select by,
which the replicas of one template share.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from steersman import api
from steersman.api import Selector, from_label_selector, from_labels
from steersman.base import CacheSpec, InputError, LruCache
from steersman.framework import Objects, PodInfo

REPLICATION_CONTROLLER: Final = (api.ReplicationController.API_VERSION, api.ReplicationController.KIND)
#: Controllers with a full label selector, by the API version and kind of an owner reference.
REPLICAS: Final[dict[tuple[str, str], type[api.ReplicaSet] | type[api.StatefulSet]]] = {
    (kind.API_VERSION, kind.KIND): kind for kind in (api.ReplicaSet, api.StatefulSet)
}


def default_selector(pod: api.Pod, objects: Objects) -> Selector:
    """Return the joint selector of the pod's services and controller; empty if it has none."""
    return joined_with_controller(service_labels(pod, objects), pod, objects)


def joined_with_controller(labels: dict[str, str], pod: api.Pod, objects: Objects) -> Selector:
    """Return the joint selector of these service labels and of the pod's controller."""
    owner = controller_of(pod)
    if owner is None:
        return from_labels(labels)
    key = f"{pod.metadata.namespace}/{owner.name}"
    kind = (owner.api_version, owner.kind)
    if kind == REPLICATION_CONTROLLER:
        controller = objects.get(api.ReplicationController, key)
        return from_labels(labels | (controller.spec.selector if controller is not None else {}))
    if kind in REPLICAS:
        replicas = objects.get(REPLICAS[kind], key)
        return _joined(from_labels(labels), replicas.spec.selector if replicas is not None else None)
    return from_labels(labels)


def service_labels(pod: api.Pod, objects: Objects) -> dict[str, str]:
    """Return the labels by which services select the pod. They cannot conflict: the pod has all."""
    labels: dict[str, str] = {}
    for service in objects.list(api.Service, namespace=pod.metadata.namespace):
        if from_labels(service.spec.selector).matches(pod.metadata.labels):
            labels |= service.spec.selector
    return labels


def controller_of(pod: api.Pod) -> api.OwnerReference | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)


def _joined(selector: Selector, other: api.LabelSelector | None) -> Selector:
    """Return the selector that requires both. A missing or invalid second selector adds nothing."""
    try:
        return selector.add(*(from_label_selector(other).requirements or ()))
    except InputError:
        return selector


# -- cached selectors --------------------------------------------------------------------------------------------------

#: The maximum number of entries of each cache.
_MOST: Final = 1 << 12
_SERVICE: Final = api.Service
#: Controllers with a selector, by the API version and kind of an owner reference.
_CONTROLLERS: Final[dict[tuple[str, str], type[api.Object]]] = {
    REPLICATION_CONTROLLER: api.ReplicationController,
    **REPLICAS,
}
_KINDS: Final[tuple[type[object], ...]] = (_SERVICE, *_CONTROLLERS.values())

Labels: TypeAlias = tuple[tuple[str, str], ...]
#: Namespace, labels that services select by, kind and name of the controller.
Decisive: TypeAlias = tuple[str, Labels, type[api.Object] | None, str]


DEFAULT_SELECTORS = CacheSpec(
    name="default selectors",
    attributes=(
        "DefaultSelectorCache._keys",
        "DefaultSelectorCache._selected",
        "DefaultSelectorCache._selectors",
        "DefaultSelectorCache._services",
    ),
    contents="the selector that services and controllers give a pod",
    key="namespace, labels that services select by, controller",
    invalidation="version of Service objects: all are removed; version of the controller's kind: looked up again",
    limit="4,096 of each, most recently used (`LruCache`)",
    reference="`default_selector` of the pod",
    checked_by="tests/plugins/pod_topology_spread/test_known_selectors.py",
    is_inline=True,
)


class DefaultSelectorCache:
    """Cached results of `default_selector`."""

    #: The selector of a pod can only change with objects of these kinds.
    kinds = _KINDS

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        #: The version of services for which the caches below are valid.
        self._services = -1
        #: By namespace: the labels by which a service selects.
        self._keys: LruCache[str, frozenset[str]] = LruCache(_MOST)
        self._selected: LruCache[tuple[str, Labels], dict[str, str]] = LruCache(_MOST)
        #: Selectors with the version of the controller's kind, which changes with every status.
        self._selectors: LruCache[Decisive, tuple[int, Selector]] = LruCache(_MOST)

    def selector_of(self, pod: PodInfo) -> Selector:
        version = self._objects.version
        services = version(_SERVICE)
        if services != self._services:
            self._reset(services)
        namespace = pod.namespace
        keys = self._keys.get(namespace)
        if keys is None:
            keys = self._service_keys(namespace)
            self._keys.put(namespace, keys)
        labels = tuple([item for item in pod.labels.items() if item[0] in keys]) if keys else ()
        kind, name = None, ""
        for owner in pod.pod.metadata.owner_references:
            if owner.controller:
                kind, name = _CONTROLLERS.get((owner.api_version, owner.kind)), owner.name
                break
        decisive = (namespace, labels, kind, name if kind else "")
        stamp = version(kind) if kind else 0
        known = self._selectors.get(decisive)
        return known[1] if known is not None and known[0] == stamp else self._find(decisive, stamp, pod.pod)

    def _find(self, decisive: Decisive, stamp: int, pod: api.Pod) -> Selector:
        by_services = decisive[:2]
        selected = self._selected.get(by_services)
        if selected is None:
            selected = service_labels(pod, self._objects)
            self._selected.put(by_services, selected)
        found = joined_with_controller(selected, pod, self._objects)
        self._selectors.put(decisive, (stamp, found))
        return found

    def _reset(self, services: int) -> None:
        self._services = services
        self._keys.clear()
        self._selected.clear()
        self._selectors.clear()

    def _service_keys(self, namespace: str) -> frozenset[str]:
        services = self._objects.list(api.Service, namespace=namespace)
        return frozenset(key for service in services for key in service.spec.selector)
