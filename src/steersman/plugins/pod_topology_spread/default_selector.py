# SPDX-License-Identifier: Apache-2.0
"""The selector of default constraints: what the services and the controller of a pod select.

Every pod that comes up is asked for its own, so selectors are remembered. Between changes of services and controllers the
selector depends on the controller and on those labels by which some service of the namespace selects. Replicas of one
template share these, whatever else their labels say.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from steersman import api
from steersman.api.selectors import Selector, from_label_selector, from_labels
from steersman.bounded_table import RecentTable
from steersman.errors import InputError
from steersman.framework.handle import Objects
from steersman.framework.pod_info import PodInfo
from steersman.kept import Kept

REPLICATION_CONTROLLER: Final = (api.ReplicationController.API_VERSION, api.ReplicationController.KIND)
#: Controllers with a full label selector, by the API version and kind of an owner reference.
REPLICAS: Final[dict[tuple[str, str], type[api.ReplicaSet] | type[api.StatefulSet]]] = {
    (kind.API_VERSION, kind.KIND): kind for kind in (api.ReplicaSet, api.StatefulSet)
}


def default_selector(pod: api.Pod, objects: Objects) -> Selector:
    """The selector of all services of the pod and of its controller; empty when the pod belongs to none."""
    return joined_with_controller(service_labels(pod, objects), pod, objects)


def joined_with_controller(labels: dict[str, str], pod: api.Pod, objects: Objects) -> Selector:
    """The selector of the services and of the pod's controller."""
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
    """The labels by which services select the pod. They cannot contradict each other: the pod has them all."""
    labels: dict[str, str] = {}
    for service in objects.list(api.Service, namespace=pod.metadata.namespace):
        if from_labels(service.spec.selector).matches(pod.metadata.labels):
            labels |= service.spec.selector
    return labels


def controller_of(pod: api.Pod) -> api.OwnerReference | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)


def _joined(selector: Selector, other: api.LabelSelector | None) -> Selector:
    """The selector that demands what both do. An absent selector adds nothing, and neither does one that cannot be
    understood."""
    try:
        return selector.add(*(from_label_selector(other).requirements or ()))
    except InputError:
        return selector


# -- selectors that are remembered -------------------------------------------------------------------------------------

#: So many of each are remembered.
_MOST: Final = 1 << 12
_SERVICE: Final = api.Service
#: Kinds of controllers whose selector counts, by the API version and kind of an owner reference.
_CONTROLLERS: Final[dict[tuple[str, str], type[api.Object]]] = {
    REPLICATION_CONTROLLER: api.ReplicationController,
    **REPLICAS,
}
_KINDS: Final[tuple[type[object], ...]] = (_SERVICE, *_CONTROLLERS.values())

Labels: TypeAlias = tuple[tuple[str, str], ...]
#: What decides: namespace, labels that services select by, kind and name of the controller.
Decisive: TypeAlias = tuple[str, Labels, type[api.Object] | None, str]


DEFAULT_SELECTORS = Kept(
    name="default selectors",
    attributes=(
        "KnownSelectors._keys",
        "KnownSelectors._selected",
        "KnownSelectors._selectors",
        "KnownSelectors._services",
    ),
    holds="the selector that services and controllers give a pod",
    key="namespace, labels that services select by, controller",
    stamps="version of Service objects: all go; version of the controller's kind: looked for again",
    bound="4,096 of each, the latest (`RecentTable`)",
    twin="`default_selector` of the pod",
    held_equal="tests/plugins/pod_topology_spread/test_known_selectors.py",
    is_inline=True,
)


class KnownSelectors:
    """`of` gives what `default_selector` gives."""

    #: While no service and no controller changes, the selector of a pod stays the same.
    kinds = _KINDS

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        #: The version of services for which everything below is right.
        self._services = -1
        #: By namespace: the labels by which a service selects.
        self._keys: RecentTable[str, frozenset[str]] = RecentTable(_MOST)
        self._selected: RecentTable[tuple[str, Labels], dict[str, str]] = RecentTable(_MOST)
        #: With the version of the controller's kind for which the selector is right: status changes all the time.
        self._selectors: RecentTable[Decisive, tuple[int, Selector]] = RecentTable(_MOST)

    def of(self, pod: PodInfo) -> Selector:
        version = self._objects.version
        services = version(_SERVICE)
        if services != self._services:
            self._start_afresh(services)
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

    def _start_afresh(self, services: int) -> None:
        self._services = services
        self._keys.clear()
        self._selected.clear()
        self._selectors.clear()

    def _service_keys(self, namespace: str) -> frozenset[str]:
        services = self._objects.list(api.Service, namespace=namespace)
        return frozenset(key for service in services for key in service.spec.selector)
