# SPDX-License-Identifier: Apache-2.0
"""The selector of default constraints: what the services and the controller of a pod select."""

from __future__ import annotations

from typing import Final

from steersman import api
from steersman.api.selectors import Selector, from_label_selector, from_labels
from steersman.errors import InputError
from steersman.framework.handle import Objects

REPLICATION_CONTROLLER: Final = (api.ReplicationController.API_VERSION, api.ReplicationController.KIND)
#: Controllers with a full label selector, by the API version and kind of an owner reference.
REPLICAS: Final[dict[tuple[str, str], type[api.ReplicaSet] | type[api.StatefulSet]]] = {
    (kind.API_VERSION, kind.KIND): kind for kind in (api.ReplicaSet, api.StatefulSet)
}


def default_selector(pod: api.Pod, objects: Objects) -> Selector:
    """What all services of the pod and its controller select; empty when the pod belongs to none."""
    return joined_with_controller(service_labels(pod, objects), pod, objects)


def joined_with_controller(labels: dict[str, str], pod: api.Pod, objects: Objects) -> Selector:
    """What the services select, and the pod's controller as well."""
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
    """Both at once. An absent selector adds nothing, and neither does one that cannot be understood."""
    try:
        return selector.add(*(from_label_selector(other).requirements or ()))
    except InputError:
        return selector
