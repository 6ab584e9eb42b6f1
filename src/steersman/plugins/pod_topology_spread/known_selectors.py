"""Default selectors of pods, remembered: every pod that comes up is asked for its own.

Between changes of services and controllers the selector depends on the controller and on those labels by which some service
of the namespace selects. Replicas of one template share these, whatever else their labels say.
"""

from __future__ import annotations

from typing import Final

from steersman import api
from steersman.api.selectors import Selector
from steersman.framework.handle import Objects
from steersman.framework.pod_info import PodInfo
from steersman.plugins.pod_topology_spread.default_selector import (
    REPLICAS,
    REPLICATION_CONTROLLER,
    joined_with_controller,
    service_labels,
)

#: More than this many are forgotten together.
_MOST: Final = 1 << 14
_CONTROLLERS: Final = frozenset({REPLICATION_CONTROLLER, *REPLICAS})

Labels = tuple[tuple[str, str], ...]
#: API version, kind and name of a controller.
Controller = tuple[str, str, str]


class KnownSelectors:
    """`of` gives what `default_selector` gives."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        #: Versions of services, replication controllers, replica sets and stateful sets at which everything was right.
        self._versions = (-1, -1, -1, -1)
        self._selectors: dict[tuple[str, Labels, Controller | None], Selector] = {}
        #: By namespace: the labels by which a service selects.
        self._keys: dict[str, frozenset[str]] = {}
        self._selected: dict[tuple[str, Labels], dict[str, str]] = {}

    def of(self, pod: PodInfo) -> Selector:
        version = self._objects.version
        versions = (
            version(api.Service),
            version(api.ReplicationController),
            version(api.ReplicaSet),
            version(api.StatefulSet),
        )
        if versions != self._versions:
            self._forget(versions)
        namespace = pod.namespace
        keys = self._keys.get(namespace)
        if keys is None:
            keys = self._keys[namespace] = self._service_keys(namespace)
        labels = tuple([item for item in pod.labels.items() if item[0] in keys]) if keys else ()
        decisive = (namespace, labels, _controller(pod.pod))
        known = self._selectors.get(decisive)
        return known if known is not None else self._remember(decisive, pod.pod)

    def _remember(self, decisive: tuple[str, Labels, Controller | None], pod: api.Pod) -> Selector:
        if len(self._selectors) >= _MOST:
            self._selectors.clear()
            self._selected.clear()
        selected = self._selected.get(decisive[:2])
        if selected is None:
            selected = self._selected[decisive[:2]] = service_labels(pod, self._objects)
        known = self._selectors[decisive] = joined_with_controller(selected, pod, self._objects)
        return known

    def _forget(self, versions: tuple[int, int, int, int]) -> None:
        """Controllers change their status all the time, services hardly ever change."""
        self._selectors.clear()
        if versions[0] != self._versions[0]:
            self._keys.clear()
            self._selected.clear()
        self._versions = versions

    def _service_keys(self, namespace: str) -> frozenset[str]:
        services = self._objects.list(api.Service, namespace=namespace)
        return frozenset(key for service in services for key in service.spec.selector)


def _controller(pod: api.Pod) -> Controller | None:
    """The controller, if it is of a kind whose selector counts."""
    for owner in pod.metadata.owner_references:
        if owner.controller:
            counts = (owner.api_version, owner.kind) in _CONTROLLERS
            return (owner.api_version, owner.kind, owner.name) if counts else None
    return None
