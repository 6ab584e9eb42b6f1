# SPDX-License-Identifier: Apache-2.0
"""The endpoints controller: the Endpoints object of each Service with a selector.

`ServicePods` is the base shared with the EndpointSlice controller: an up-to-date index of the pods
of each Service. Both work on documents, and subscribe to pods when the first Service with a
selector appears. Difference to upstream: the annotation
`endpoints.kubernetes.io/last-change-trigger-time` is not written.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Final

from steersman.api import FINISHED_PHASES, LabelSelector, Object, Pod, Service, custom_kind, key
from steersman.cluster.controllers.controller import Cluster, Controller
from steersman.cluster.controllers.owned_pods import OwnerSelectors
from steersman.cluster.controllers.pod_states import is_ready
from steersman.cluster.store import Document, EventType, NamespaceTerminating
from steersman.cluster.store.documents import typed

Endpoints: Final = custom_kind("v1", "Endpoints", "endpoints")
MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
MANAGER: Final = "endpoint-controller"
HEADLESS: Final = "service.kubernetes.io/headless"
OVER_CAPACITY: Final = "endpoints.kubernetes.io/over-capacity"
MAX_ADDRESSES: Final = 1000
NO_CLUSTER_IP: Final = "None"
_MAX_BATCH_SECONDS: Final = 1.0
_SECONDS_PER_POD: Final = 0.001
"""Delay for batching changes of large Services, so that not every pod rewrites all endpoints."""


class ServicePods(Controller):
    """Base of controllers that reconcile a Service when endpoint data of its pods changes."""

    #: Kind written for Services.
    WRITES: ClassVar[type[Object]]

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster)
        self._selectors = OwnerSelectors()
        #: Service key → pod key → pod.
        self._members: dict[str, dict[str, Pod]] = {}
        self._follows_pods = False
        self.store.subscribe(self._on_service, (Service,))
        self.store.subscribe(self._on_written, (self.WRITES,))

    @abstractmethod
    def service_of(self, written: Object) -> str:
        """Return the key of the Service of a written object."""

    def pods_of(self, name: str) -> Iterator[tuple[Pod, Document]]:
        """Yield a Service's pods that may have an endpoint, with documents, sorted by name."""
        for place, pod in sorted(self._members.get(name, {}).items()):
            if pod.status.phase not in FINISHED_PHASES and pod.status.pod_ip:
                yield pod, self.store.document(Pod, place)

    def write(self, document: Document, old: Object | None = None) -> None:
        """Create the object, or replace `old`."""
        try:
            if old is None:
                self.store.create(typed(document, self.WRITES), document)
            else:
                self.store.rewrite(old, typed(document, self.WRITES), document)
        except NamespaceTerminating:
            return

    # -- events ------------------------------------------------------------------------------------

    def _on_service(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if isinstance(new, Service):
            name = key(new)
            if not isinstance(old, Service) or old.spec.selector != new.spec.selector:
                self._select(name, new)
            self.enqueue(name)
        elif old is not None:
            self._selectors.remove(key(old))
            self._members.pop(key(old), None)
            self.enqueue(key(old))

    def _select(self, name: str, service: Service) -> None:
        if not service.spec.selector:
            self._selectors.remove(name)
            self._members.pop(name, None)
            return
        namespace, selector = service.metadata.namespace, service.spec.selector
        self._selectors.put(name, namespace, LabelSelector(match_labels=selector))
        self._members[name] = {
            place: pod
            for place, pod in self.store.objects(Pod).items()
            if pod.metadata.namespace == namespace and selector.items() <= pod.metadata.labels.items()
        }
        if not self._follows_pods:
            self._follows_pods = True
            self.store.subscribe(self._on_pod, (Pod,))

    def _on_written(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self.enqueue(self.service_of(old))

    def _on_pod(self, _: EventType, old: Object | None, new: Object | None) -> None:
        before, after = old if isinstance(old, Pod) else None, new if isinstance(new, Pod) else None
        if before is not None and (after is None or before.metadata.labels != after.metadata.labels):
            for name in self._selectors.matching(before.metadata.namespace, before.metadata.labels):
                self._members[name].pop(key(before), None)
                self._enqueue_batched(name)
            before = None
        if after is not None:
            is_changed = before is None or _facts(before) != _facts(after)
            for name in self._selectors.matching(after.metadata.namespace, after.metadata.labels):
                self._members[name][key(after)] = after
                if is_changed:
                    self._enqueue_batched(name)

    def _enqueue_batched(self, name: str) -> None:
        self.enqueue_after(name, min(_MAX_BATCH_SECONDS, len(self._members[name]) * _SECONDS_PER_POD))


class EndpointsController(ServicePods):
    NAME = "endpoints"
    WRITES = Endpoints

    def service_of(self, written: Object) -> str:
        return key(written)

    def reconcile(self, name: str) -> None:
        service, known = self.store.find(Service, name), self.store.find(Endpoints, name)
        if service is None:
            if known is not None:
                self.store.delete(Endpoints, name)
            return
        if not service.spec.selector or service.spec.type == "ExternalName":
            return
        subsets, is_truncated = _within_capacity(self._subsets(name))
        before = {} if known is None else self.store.document(Endpoints, name)
        document = _endpoints_document(service, before, subsets, is_truncated)
        if document != before:
            self.write(document, known)

    def _subsets(self, name: str) -> list[Document]:
        """Return the addresses of the pods, grouped by their ports."""
        spec = self.store.document(Service, name)["spec"]
        publishes_unready = bool(spec.get("publishNotReadyAddresses"))
        addresses: dict[str, tuple[Document, bool]] = {}
        pods_by_port: dict[tuple[tuple[str, Any], ...], list[str]] = {}
        for pod, document in self.pods_of(name):
            if pod.metadata.deletion_timestamp is not None and not publishes_unready:
                continue
            addresses[key(pod)] = _address(pod, document, name), publishes_unready or is_ready(pod)
            ports = list(endpoint_ports(spec, document))
            if not spec.get("ports") and spec.get("clusterIP") == NO_CLUSTER_IP:
                ports = [{}]
            for port in ports:
                pods_by_port.setdefault(tuple(port.items()), []).append(key(pod))
        ports_by_pods: dict[tuple[str, ...], list[Document]] = {}
        for items, names in pods_by_port.items():
            ports_by_pods.setdefault(tuple(names), []).append(dict(items))
        return [_subset([addresses[pod] for pod in names], ports) for names, ports in ports_by_pods.items()]


def endpoint_ports(spec: Document, pod: Document) -> Iterator[Document]:
    """Yield the ports of a Service on a pod, without named target ports that the pod lacks."""
    for port in spec.get("ports") or ():
        number = port.get("targetPort") or port["port"]
        protocol = port.get("protocol") or "TCP"
        if isinstance(number, str):
            number = _named_port(pod["spec"], number, protocol)
        if number is not None:
            more = {"appProtocol": port["appProtocol"]} if port.get("appProtocol") else {}
            yield {"name": port.get("name") or "", "port": number, "protocol": protocol, **more}


def _named_port(spec: Document, name: str, protocol: str) -> int | None:
    sidecars = [some for some in spec.get("initContainers") or () if some.get("restartPolicy") == "Always"]
    for container in (*spec["containers"], *sidecars):
        for port in container.get("ports") or ():
            if port.get("name") == name and (port.get("protocol") or "TCP") == protocol:
                return int(port["containerPort"])
    return None


def target_of(pod: Pod) -> Document:
    """Return the reference to an endpoint's pod."""
    meta = pod.metadata
    return {"kind": "Pod", "name": meta.name, "namespace": meta.namespace, "uid": meta.uid}


def hostname_of(document: Document, service: str) -> Document:
    """Return the hostname of an endpoint if the pod has one in the Service's subdomain."""
    spec = document["spec"]
    has_domain = spec.get("hostname") and spec.get("subdomain") == service.partition("/")[2]
    return {"hostname": spec["hostname"]} if has_domain else {}


def _address(pod: Pod, document: Document, service: str) -> Document:
    address = {"ip": pod.status.pod_ip, "nodeName": pod.spec.node_name, "targetRef": target_of(pod)}
    return {**hostname_of(document, service), **address}


def _subset(addresses: list[tuple[Document, bool]], ports: list[Document]) -> Document:
    by_address = sorted(addresses, key=lambda found: found[0]["ip"])
    parts = {
        "addresses": [address for address, ready in by_address if ready],
        "notReadyAddresses": [address for address, ready in by_address if not ready],
        "ports": [{name: value for name, value in port.items() if value != ""} for port in ports if port],
    }
    return {name: values for name, values in parts.items() if values}


def _within_capacity(subsets: list[Document]) -> tuple[list[Document], bool]:
    """Truncate to a thousand addresses, ready ones first; return whether any were dropped."""
    left, cut = MAX_ADDRESSES, [dict(subset) for subset in subsets]
    for name in ("addresses", "notReadyAddresses"):
        for subset in cut:
            found = subset.pop(name, [])
            if found[:left]:
                subset[name] = found[:left]
            left -= len(found)
    return cut, left < 0


def _endpoints_document(service: Service, before: Document, subsets: list[Document], is_truncated: bool) -> Document:
    meta = service.metadata
    labels = {**meta.labels, MANAGED_BY: MANAGER}
    labels.pop(HEADLESS, None)
    if service.spec.cluster_ip in ("", NO_CLUSTER_IP):
        labels[HEADLESS] = ""
    metadata = {"name": meta.name, "namespace": meta.namespace, **before.get("metadata", {}), "labels": labels}
    annotations = dict(metadata.pop("annotations", {}))
    annotations.pop(OVER_CAPACITY, None)
    if is_truncated:
        annotations[OVER_CAPACITY] = "truncated"
    if annotations:
        metadata["annotations"] = annotations
    document = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata}
    return {**document, "subsets": subsets} if subsets else document


def _facts(pod: Pod) -> tuple[object, ...]:
    """Return the pod data that endpoints depend on."""
    is_leaving = pod.metadata.deletion_timestamp is not None
    return pod.status.pod_ip, pod.spec.node_name, is_ready(pod), is_leaving, pod.status.phase in FINISHED_PHASES
