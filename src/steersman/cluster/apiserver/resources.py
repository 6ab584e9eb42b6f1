# SPDX-License-Identifier: Apache-2.0
"""Built-in resources: all that a kube-apiserver v1.36 serves by default, as in its discovery, and those that
v1.37 serves with a feature gate.

`catalog` serves them together with custom resources. A resource names the class under which the
store holds its objects: the struct of `steersman.api` if it exists, else a class without fields,
whose objects are only documents. Versions of a resource share the class.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from steersman import api

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
NAMESPACE_VERBS: Final = ("create", "delete", "get", "list", "patch", "update", "watch")
CREATE: Final = ("create",)
READ_AND_WRITE: Final = ("get", "patch", "update")
_PROXY: Final = ("create", "delete", "get", "patch", "update")
METRICS_GROUP: Final = "metrics.k8s.io"
READ: Final = ("get", "list")
_STREAM: Final = ("create", "get")


class Subresource(msgspec.Struct, frozen=True):
    """Subresource; `group` and `version` are set if they differ from the resource's."""

    name: str
    kind: str
    verbs: tuple[str, ...] = READ_AND_WRITE
    group: str = ""
    version: str = ""


class Resource(msgspec.Struct, frozen=True):
    """A version of a resource. `stored_as` is None for unstored ones, such as reviews."""

    api_version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    stored_as: type[api.Object] | None = None
    singular_name: str = ""
    list_kind_name: str = ""
    #: Feature gate without which the resource is not served; "" for others.
    gate: str = ""

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @property
    def singular(self) -> str:
        return self.singular_name or self.kind.lower()

    @property
    def list_kind(self) -> str:
        return self.list_kind_name or f"{self.kind}List"

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)

    @property
    def is_stored_elsewhere(self) -> bool:
        """Whether objects are stored in another version."""
        return self.stored_as is not None and self.api_version != self.stored_as.API_VERSION


def status_of(kind: str) -> Subresource:
    return Subresource("status", kind)


SCALE: Final = Subresource("scale", "Scale", group="autoscaling", version="v1")

_POD_SUBRESOURCES: Final = (
    Subresource("attach", "PodAttachOptions", _STREAM),
    Subresource("binding", "Binding", CREATE),
    Subresource("ephemeralcontainers", "Pod"),
    Subresource("eviction", "Eviction", CREATE, group="policy", version="v1"),
    Subresource("exec", "PodExecOptions", _STREAM),
    Subresource("log", "Pod", ("get",)),
    Subresource("portforward", "PodPortForwardOptions", _STREAM),
    Subresource("proxy", "PodProxyOptions", _PROXY),
    Subresource("resize", "Pod"),
    status_of("Pod"),
)
_STORED_VERSIONS: Final = {
    "events": "v1",
    "horizontalpodautoscalers": "autoscaling/v2",
    "podgroups": "scheduling.k8s.io/v1beta1",
    "workloads": "scheduling.k8s.io/v1beta1",
}
"""Storage versions of resources with several versions."""


def _table() -> Iterable[Resource]:
    yield from _core()
    yield from _workloads()
    yield from _access()
    yield from _cluster_configuration()
    yield from _measurements()


def _core() -> Iterable[Resource]:
    v1 = "v1"
    yield Resource(v1, "bindings", "Binding", verbs=CREATE)
    yield Resource(v1, "componentstatuses", "ComponentStatus", False, ("cs",), verbs=READ)
    yield Resource(v1, "configmaps", "ConfigMap", short_names=("cm",))
    yield Resource(v1, "endpoints", "Endpoints", short_names=("ep",), singular_name="endpoints")
    yield Resource(v1, "events", "Event", short_names=("ev",))
    yield Resource(v1, "limitranges", "LimitRange", short_names=("limits",))
    finalize = Subresource("finalize", "Namespace", ("update",))
    namespace_parts = (finalize, status_of("Namespace"))
    yield Resource(v1, "namespaces", "Namespace", False, ("ns",), (), NAMESPACE_VERBS, namespace_parts)
    proxied_node = (Subresource("proxy", "NodeProxyOptions", _PROXY), status_of("Node"))
    yield Resource(v1, "nodes", "Node", False, ("no",), subresources=proxied_node)
    yield _with_status(v1, "persistentvolumeclaims", "PersistentVolumeClaim", short_names=("pvc",))
    yield _with_status(v1, "persistentvolumes", "PersistentVolume", namespaced=False, short_names=("pv",))
    yield Resource(v1, "pods", "Pod", True, ("po",), ("all",), subresources=_POD_SUBRESOURCES)
    yield Resource(v1, "podtemplates", "PodTemplate")
    yield _scalable(v1, "replicationcontrollers", "ReplicationController", ("rc",))
    yield _with_status(v1, "resourcequotas", "ResourceQuota", short_names=("quota",))
    yield Resource(v1, "secrets", "Secret")
    token = Subresource("token", "TokenRequest", CREATE, group="authentication.k8s.io", version="v1")
    yield Resource(v1, "serviceaccounts", "ServiceAccount", short_names=("sa",), subresources=(token,))
    proxied_service = (Subresource("proxy", "ServiceProxyOptions", _PROXY), status_of("Service"))
    yield Resource(v1, "services", "Service", True, ("svc",), ("all",), subresources=proxied_service)
    yield Resource("events.k8s.io/v1", "events", "Event", short_names=("ev",))


def _workloads() -> Iterable[Resource]:
    apps, batch = "apps/v1", "batch/v1"
    yield Resource(apps, "controllerrevisions", "ControllerRevision")
    yield _with_status(apps, "daemonsets", "DaemonSet", short_names=("ds",), categories=("all",))
    yield _scalable(apps, "deployments", "Deployment", ("deploy",))
    yield _scalable(apps, "replicasets", "ReplicaSet", ("rs",))
    yield _scalable(apps, "statefulsets", "StatefulSet", ("sts",))
    for version in ("v2", "v1"):
        hpa, names = "HorizontalPodAutoscaler", ("hpa",)
        yield _with_status(
            f"autoscaling/{version}", "horizontalpodautoscalers", hpa, short_names=names, categories=("all",)
        )
    yield _with_status(batch, "cronjobs", "CronJob", short_names=("cj",), categories=("all",))
    yield _with_status(batch, "jobs", "Job", categories=("all",))
    yield _with_status("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", short_names=("pdb",))
    yield Resource("discovery.k8s.io/v1", "endpointslices", "EndpointSlice")
    networking = "networking.k8s.io/v1"
    yield Resource(networking, "ingressclasses", "IngressClass", False)
    yield _with_status(networking, "ingresses", "Ingress", short_names=("ing",))
    yield Resource(networking, "ipaddresses", "IPAddress", False, ("ip",))
    yield Resource(networking, "networkpolicies", "NetworkPolicy", short_names=("netpol",))
    yield _with_status(networking, "servicecidrs", "ServiceCIDR", namespaced=False)


def _access() -> Iterable[Resource]:
    authentication, authorization = "authentication.k8s.io/v1", "authorization.k8s.io/v1"
    yield Resource(authentication, "selfsubjectreviews", "SelfSubjectReview", False, verbs=CREATE)
    yield Resource(authentication, "tokenreviews", "TokenReview", False, verbs=CREATE)
    yield Resource(authorization, "localsubjectaccessreviews", "LocalSubjectAccessReview", verbs=CREATE)
    yield Resource(authorization, "selfsubjectaccessreviews", "SelfSubjectAccessReview", False, verbs=CREATE)
    yield Resource(authorization, "selfsubjectrulesreviews", "SelfSubjectRulesReview", False, verbs=CREATE)
    yield Resource(authorization, "subjectaccessreviews", "SubjectAccessReview", False, verbs=CREATE)
    rbac = "rbac.authorization.k8s.io/v1"
    yield Resource(rbac, "clusterrolebindings", "ClusterRoleBinding", False)
    yield Resource(rbac, "clusterroles", "ClusterRole", False)
    yield Resource(rbac, "rolebindings", "RoleBinding")
    yield Resource(rbac, "roles", "Role")
    csr = "CertificateSigningRequest"
    signing = (Subresource("approval", csr), status_of(csr))
    yield Resource("certificates.k8s.io/v1", "certificatesigningrequests", csr, False, ("csr",), subresources=signing)


def _cluster_configuration() -> Iterable[Resource]:
    storage = "storage.k8s.io/v1"
    yield Resource(storage, "csidrivers", "CSIDriver", False)
    yield Resource(storage, "csinodes", "CSINode", False)
    yield Resource(storage, "csistoragecapacities", "CSIStorageCapacity")
    yield Resource(storage, "storageclasses", "StorageClass", False, ("sc",))
    yield _with_status(storage, "volumeattachments", "VolumeAttachment", namespaced=False)
    yield Resource(storage, "volumeattributesclasses", "VolumeAttributesClass", False, ("vac",))
    yield from _extensions()
    yield Resource("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", False, ("pc",))
    yield Resource("coordination.k8s.io/v1", "leases", "Lease")
    yield Resource("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", False)
    devices = "resource.k8s.io/v1"
    yield Resource(devices, "deviceclasses", "DeviceClass", False)
    yield _with_status(devices, "resourceclaims", "ResourceClaim")
    yield Resource(devices, "resourceclaimtemplates", "ResourceClaimTemplate")
    yield Resource(devices, "resourceslices", "ResourceSlice", False)
    flow = "flowcontrol.apiserver.k8s.io/v1"
    yield _with_status(flow, "flowschemas", "FlowSchema", namespaced=False)
    yield _with_status(flow, "prioritylevelconfigurations", "PriorityLevelConfiguration", namespaced=False)


def _measurements() -> Iterable[Resource]:
    version = f"{METRICS_GROUP}/v1beta1"
    yield Resource(version, "nodes", "NodeMetrics", False, verbs=READ)
    yield Resource(version, "pods", "PodMetrics", verbs=READ)


def _pod_groups() -> Iterable[Resource]:
    """Yield the resources of pod groups. A server with composite groups serves v1alpha3."""
    group, composite = "scheduling.k8s.io", "CompositePodGroup"
    for version, gate in (("v1beta1", "GenericWorkload"), ("v1alpha3", composite)):
        api_version = f"{group}/{version}"
        if gate == composite:
            yield msgspec.structs.replace(_with_status(api_version, "compositepodgroups", composite), gate=gate)
        yield msgspec.structs.replace(_with_status(api_version, "podgroups", "PodGroup"), gate=gate)
        yield Resource(api_version, "workloads", "Workload", gate=gate)


def _extensions() -> Iterable[Resource]:
    admission, extensions = "admissionregistration.k8s.io/v1", ("api-extensions",)
    for plural, kind in (
        ("mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
        ("mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"),
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
        ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    ):
        yield Resource(admission, plural, kind, False, categories=extensions)
    policy = "ValidatingAdmissionPolicy"
    yield _with_status(admission, "validatingadmissionpolicies", policy, namespaced=False, categories=extensions)
    crd, crd_names = "CustomResourceDefinition", ("crd", "crds")
    yield _with_status(
        "apiextensions.k8s.io/v1",
        "customresourcedefinitions",
        crd,
        namespaced=False,
        short_names=crd_names,
        categories=extensions,
    )
    yield _with_status(
        "apiregistration.k8s.io/v1", "apiservices", "APIService", namespaced=False, categories=extensions
    )


def _with_status(
    api_version: str,
    plural: str,
    kind: str,
    *,
    namespaced: bool = True,
    short_names: tuple[str, ...] = (),
    categories: tuple[str, ...] = (),
) -> Resource:
    parts = (status_of(kind),)
    return Resource(api_version, plural, kind, namespaced, short_names, categories, subresources=parts)


def _scalable(api_version: str, plural: str, kind: str, short_names: tuple[str, ...]) -> Resource:
    parts = (SCALE, status_of(kind))
    return Resource(api_version, plural, kind, True, short_names, ("all",), subresources=parts)


def storage_class(group: str, kind: str, declared: Iterable[type[api.Object]] = ()) -> type[api.Object] | None:
    """Return the struct of a kind: declared by a plugin, or of `steersman.api`; None if there is
    none."""
    for known in (*declared, api.KINDS.get(kind)):
        if known is not None and kind == known.KIND and known.API_VERSION.rpartition("/")[0] == group:
            return known
    return None


def _stored(resource: Resource) -> Resource:
    """Return the resource with the class of its stored objects, if it is stored."""
    if "create" not in resource.verbs or "list" not in resource.verbs:
        return resource
    version = _STORED_VERSIONS.get(resource.plural, resource.api_version)
    known = storage_class(version.rpartition("/")[0], resource.kind)
    if known is None:
        known = api.custom_kind(version, resource.kind, resource.plural, namespaced=resource.namespaced)
    return msgspec.structs.replace(resource, stored_as=known)


BUILT_IN: Final[tuple[Resource, ...]] = tuple(_stored(resource) for resource in _table())
"""All built-in resources, in discovery order."""
GATED: Final[tuple[Resource, ...]] = tuple(_stored(resource) for resource in _pod_groups())
"""Resources that are served only with their feature gate, in discovery order."""
GATED_SINCE: Final = (1, 37)
"""The first version that serves them."""

GROUPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("apiregistration.k8s.io", ("v1",)),
    ("apps", ("v1",)),
    ("events.k8s.io", ("v1",)),
    ("authentication.k8s.io", ("v1",)),
    ("authorization.k8s.io", ("v1",)),
    ("autoscaling", ("v2", "v1")),
    ("batch", ("v1",)),
    ("certificates.k8s.io", ("v1",)),
    ("networking.k8s.io", ("v1",)),
    ("policy", ("v1",)),
    ("rbac.authorization.k8s.io", ("v1",)),
    ("storage.k8s.io", ("v1",)),
    ("admissionregistration.k8s.io", ("v1",)),
    ("apiextensions.k8s.io", ("v1",)),
    ("scheduling.k8s.io", ("v1",)),
    ("coordination.k8s.io", ("v1",)),
    ("node.k8s.io", ("v1",)),
    ("discovery.k8s.io", ("v1",)),
    ("resource.k8s.io", ("v1",)),
    ("flowcontrol.apiserver.k8s.io", ("v1",)),
    (METRICS_GROUP, ("v1beta1",)),
)
"""Non-core groups in discovery order, and their versions, preferred version first."""
