# SPDX-License-Identifier: Apache-2.0
"""The EndpointSlice controller: slices of at most a hundred endpoints for each Service with a
selector.

Pods with different numbers for named ports are in different slices. Endpoints stay in their slice;
new ones fill slices that are written anyway, then the fullest slice with room for all, then new
slices. Differences to upstream: no topology hints, and no slices for user-written Endpoints.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from steersman.api import ZONE_LABEL, Node, Object, Service, custom_kind, key
from steersman.cluster.controllers.controller import controller_reference
from steersman.cluster.controllers.endpoints import (
    HEADLESS,
    NO_CLUSTER_IP,
    ServicePods,
    endpoint_ports,
    hostname_of,
    target_of,
)
from steersman.cluster.controllers.pod_states import is_ready
from steersman.cluster.controllers.pod_template import name_prefix
from steersman.cluster.store import Document

EndpointSlice: Final = custom_kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")
SERVICE_NAME: Final = "kubernetes.io/service-name"
MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
MANAGER: Final = "endpointslice-controller.k8s.io"
MAX_ENDPOINTS: Final = 100


class EndpointSliceController(ServicePods):
    NAME = "endpointslice"
    WRITES = EndpointSlice

    def service_of(self, written: Object) -> str:
        return f"{written.metadata.namespace}/{written.metadata.labels.get(SERVICE_NAME, '')}"

    def reconcile(self, name: str) -> None:
        service = self.store.find(Service, name)
        if service is None or not service.spec.selector or service.spec.type == "ExternalName":
            return  # slices of a deleted Service are garbage collected
        spec = self.store.document(Service, name)["spec"]
        known = self._known_slices(service)
        families = spec.get("ipFamilies") or ["IPv4"]
        for family in families:
            self._reconcile_family(service, spec, family, [some for some in known if some["addressType"] == family])
        for found in known:
            if found["addressType"] not in families:
                self._delete(found)

    def _known_slices(self, service: Service) -> list[Document]:
        documents = self.store.documents(EndpointSlice)
        wanted = {SERVICE_NAME: service.metadata.name, MANAGED_BY: MANAGER}.items()
        return [
            documents[place]
            for place, found in self.store.objects(EndpointSlice).items()
            if found.metadata.namespace == service.metadata.namespace and wanted <= found.metadata.labels.items()
        ]

    def _reconcile_family(self, service: Service, spec: Document, family: str, known: list[Document]) -> None:
        desired = self._desired(service, spec) if family == "IPv4" else {}
        written = 0
        for ports, endpoints in desired.items():
            same = [some for some in known if _port_key(some.get("ports") or []) == ports]
            for old, packed in _packed(same, endpoints):
                written += bool(packed)
                self._write(service, family, [dict(port) for port in ports], packed, old)
        others = [some for some in known if _port_key(some.get("ports") or []) not in desired]
        placeholder = next((some for some in others if not some.get("ports") and not some.get("endpoints")), None)
        if not written:
            self._write(service, family, [], [], placeholder)
        for found in others:
            if written or found is not placeholder:
                self._delete(found)

    def _desired(self, service: Service, spec: Document) -> dict[tuple[Any, ...], dict[str, Document]]:
        """Return the endpoints by ports, then by pod uid."""
        desired: dict[tuple[Any, ...], dict[str, Document]] = {}
        publishes_unready = bool(spec.get("publishNotReadyAddresses"))
        for pod, document in self.pods_of(key(service)):
            node = self.store.find(Node, pod.spec.node_name)
            if node is None and not publishes_unready:
                continue
            is_serving, is_leaving = is_ready(pod), pod.metadata.deletion_timestamp is not None
            conditions = {
                "ready": publishes_unready or (is_serving and not is_leaving),
                "serving": is_serving,
                "terminating": is_leaving,
            }
            zone = "" if node is None else node.metadata.labels.get(ZONE_LABEL, "")
            endpoint = {
                "addresses": [pod.status.pod_ip],
                "conditions": conditions,
                **hostname_of(document, key(service)),
                "nodeName": pod.spec.node_name,
                "targetRef": target_of(pod),
                **({"zone": zone} if zone else {}),
            }
            ports = _port_key(list(endpoint_ports(spec, document)))
            desired.setdefault(ports, {})[pod.metadata.uid] = endpoint
        return desired

    def _write(
        self, service: Service, family: str, ports: list[Document], endpoints: list[Document], old: Document | None
    ) -> None:
        labels = {name: value for name, value in service.metadata.labels.items() if name != HEADLESS}
        labels |= {SERVICE_NAME: service.metadata.name, MANAGED_BY: MANAGER}
        if service.spec.cluster_ip in ("", NO_CLUSTER_IP):
            labels[HEADLESS] = ""
        content = {"addressType": family, "endpoints": endpoints, "ports": ports}
        if old is not None:
            meta = old["metadata"]
            if not endpoints and old.get("endpoints"):
                self._delete(old)
            elif content != {name: old.get(name) for name in content} or labels != meta.get("labels"):
                generation = int(meta.get("generation", 1)) + 1
                document = {**old, "metadata": {**meta, "labels": labels, "generation": generation}, **content}
                self.write(document, self.store.get(EndpointSlice, f"{meta['namespace']}/{meta['name']}"))
            return
        metadata = {
            "generateName": name_prefix(service.metadata.name),
            "namespace": service.metadata.namespace,
            "labels": labels,
            "generation": 1,
            "ownerReferences": [msgspec.to_builtins(controller_reference(service))],
        }
        self.write({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, **content})

    def _delete(self, found: Document) -> None:
        self.store.delete(EndpointSlice, f"{found['metadata']['namespace']}/{found['metadata']['name']}")


def _packed(known: list[Document], desired: dict[str, Document]) -> list[tuple[Document | None, list[Document]]]:
    """Assign endpoints to slices (None: new); known slices without endpoints must be deleted."""
    missing = dict(desired)
    kept = [_still_desired(found, missing) for found in known]
    is_written = [len(kept[index]) < len(found.get("endpoints") or ()) for index, found in enumerate(known)]
    left = list(missing.values())
    for index, endpoints in enumerate(kept):
        if is_written[index] and endpoints:
            room = MAX_ENDPOINTS - len(endpoints)
            endpoints += left[:room]
            left = left[room:]
    usable = [some for index, some in enumerate(kept) if some or not is_written[index]]
    fitting = [some for some in usable if len(some) + len(left) <= MAX_ENDPOINTS]
    if left and fitting:
        max(fitting, key=len).extend(left)
        left = []
    new = [left[start : start + MAX_ENDPOINTS] for start in range(0, len(left), MAX_ENDPOINTS)]
    return [*zip(known, kept, strict=True), *((None, endpoints) for endpoints in new)]


def _still_desired(found: Document, missing: dict[str, Document]) -> list[Document]:
    """Return a slice's desired endpoints, updated, and remove them from `missing`."""
    uids = [endpoint.get("targetRef", {}).get("uid", "") for endpoint in found.get("endpoints") or ()]
    return [missing.pop(uid) for uid in uids if uid in missing]


def _port_key(ports: list[Document]) -> tuple[Any, ...]:
    return tuple(sorted(tuple(sorted(port.items())) for port in ports))
