# SPDX-License-Identifier: Apache-2.0
"""Default objects of every cluster: namespaces, the `kubernetes` service, priority classes, a
storage class, roles, and per namespace a service account and the CA certificate.

Existing objects, as in a restored cluster, are not changed.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.api import Namespace, Object
from steersman.cluster.apiserver import FIRST_ADDRESS, Catalog
from steersman.cluster.controllers import Endpoints, EndpointSlice
from steersman.cluster.store import ADDED, MODIFIED, TERMINATING, EventType, StatusError, Store, typed
from steersman.sandbox.default_roles import default_roles

NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
STORAGE_CLASS: Final = "standard"
PROVISIONER: Final = "sandbox.steersman.dev/volumes"
ROOT_CA: Final = "kube-root-ca.crt"
LOOPBACK: Final = "127.0.0.1"
_SYSTEM_CLASSES: Final = {
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}


class DefaultObjects:
    """Creates the default objects; with `fills_namespaces` also in later namespaces, like
    controllers. `authority` is a PEM certificate."""

    def __init__(
        self, store: Store, catalog: Catalog, authority: str, port: int, *, fills_namespaces: bool = True
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._authority = authority
        for name in NAMESPACES:
            self._create("v1", "Namespace", name)
        self._create_priority_classes()
        self._create_service(port)
        self._create_storage_class()
        for role in default_roles():
            metadata = role.pop("metadata")
            header = role.pop("apiVersion"), role.pop("kind"), metadata["name"]
            self._create(*header, fields=role, labels=metadata["labels"], annotations=metadata["annotations"])
        trusted = {"client-ca-file": authority, "requestheader-client-ca-file": authority}
        self._create("v1", "ConfigMap", "extension-apiserver-authentication", "kube-system", {"data": trusted})
        if not fills_namespaces:
            return
        store.subscribe(self._on_namespace, (Namespace,))
        kinds = [
            resource.stored_as
            for resource in catalog.all()
            if resource.api_version == "v1" and resource.kind in ("ServiceAccount", "ConfigMap") and resource.stored_as
        ]
        store.subscribe(self._on_deletion, kinds)

    def _create_priority_classes(self) -> None:
        for name, (value, description) in _SYSTEM_CLASSES.items():
            fields = {"value": value, "description": description, "preemptionPolicy": "PreemptLowerPriority"}
            self._create("scheduling.k8s.io/v1", "PriorityClass", name, fields=fields)

    def _create_service(self, port: int) -> None:
        ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
        spec = {
            "clusterIP": FIRST_ADDRESS,
            "clusterIPs": [FIRST_ADDRESS],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": ports,
            "sessionAffinity": "None",
            "type": "ClusterIP",
        }
        labels = {"component": "apiserver", "provider": "kubernetes"}
        self._create("v1", "Service", "kubernetes", "default", {"spec": spec}, labels)
        self._create_endpoints(port)

    def _create_endpoints(self, port: int) -> None:
        """Create the server's endpoints, as an API server does; the port may change on restarts."""
        ports = [{"name": "https", "port": port, "protocol": "TCP"}]
        subsets = {"subsets": [{"addresses": [{"ip": LOOPBACK}], "ports": ports}]}
        ready = {"addresses": [LOOPBACK], "conditions": {"ready": True}}
        served = {"addressType": "IPv4", "endpoints": [ready], "ports": ports}
        for kind, fields, labels in (
            (Endpoints, subsets, {"endpointslice.kubernetes.io/skip-mirror": "true"}),
            (EndpointSlice, served, {"kubernetes.io/service-name": "kubernetes"}),
        ):
            if self._store.find(kind, "default/kubernetes") is not None:
                self._store.delete(kind, "default/kubernetes")
            self._create(kind.API_VERSION, kind.KIND, "kubernetes", "default", fields, labels)

    def _create_storage_class(self) -> None:
        fields = {
            "provisioner": PROVISIONER,
            "reclaimPolicy": "Delete",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowVolumeExpansion": True,
        }
        default = {"storageclass.kubernetes.io/is-default-class": "true"}
        self._create("storage.k8s.io/v1", "StorageClass", STORAGE_CLASS, fields=fields, annotations=default)

    def _on_namespace(self, what: EventType, _: Object | None, new: Object | None) -> None:
        if what in (ADDED, MODIFIED) and isinstance(new, Namespace):
            self._fill(new)

    def _on_deletion(self, _: EventType, old: Object | None, new: Object | None) -> None:
        """Recreate default objects of a namespace when they are deleted."""
        if new is None and old is not None and old.metadata.name in ("default", ROOT_CA):
            namespace = self._store.find(Namespace, old.metadata.namespace)
            if namespace is not None:
                self._fill(namespace)

    def _fill(self, namespace: Namespace) -> None:
        if namespace.status.phase == TERMINATING or namespace.metadata.deletion_timestamp is not None:
            return
        name = namespace.metadata.name
        self._create("v1", "ServiceAccount", "default", name)
        self._create("v1", "ConfigMap", ROOT_CA, name, {"data": {"ca.crt": self._authority}})

    def _create(
        self,
        api_version: str,
        kind: str,
        name: str,
        namespace: str = "",
        fields: dict[str, Any] | None = None,
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
    ) -> None:
        resource = self._catalog.of_kind(api_version, kind)
        assert resource is not None, f"{kind} is built in"
        assert resource.stored_as is not None, f"{kind} is stored"
        key = f"{namespace}/{name}" if namespace else name
        if self._store.find(resource.stored_as, key) is not None:
            return
        metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
        metadata = {field: value for field, value in metadata.items() if value}
        document = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **(fields or {})}
        try:
            self._store.create(typed(document, resource.stored_as), document)
        except StatusError:
            return  # its namespace is terminating
