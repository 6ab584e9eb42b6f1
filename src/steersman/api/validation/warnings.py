# SPDX-License-Identifier: Apache-2.0
"""Warnings about deprecated or ignored fields, annotations and labels of valid objects.

Upstream: `WarningsOnCreate` and `WarningsOnUpdate` in `pkg/registry/*/*/strategy.go`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from steersman.api.json_values import Document, elements, group_kind, is_same, part
from steersman.api.validation.checks import dns1123_label
from steersman.api.validation.metadata import finalizer_warnings
from steersman.api.validation.pod_warnings import (
    NODE_LABELS,
    VOLUME_SOURCES,
    annotation_warnings,
    cidr_warnings,
    claim_spec_warnings,
    ip_warnings,
    node_term_warnings,
    pod_warnings,
)

Warn: TypeAlias = Callable[[Document, Document | None], Iterator[str]]
"""Function that yields the warnings about a valid object, given the stored one on updates."""

_ENDPOINTS_DEPRECATED: Final = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
_TOKENS_IN_CONTEXT: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of "
    "tokens in volume attributes"
)
_RECYCLE: Final = (
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use "
    "dynamic provisioning."
)
_CLAIM_ANNOTATIONS: Final = {
    "volume.beta.kubernetes.io/storage-class": 'deprecated since v1.8; use "storageClassName" attribute instead'
}
_VOLUME_ANNOTATIONS: Final = _CLAIM_ANNOTATIONS | {
    "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead'
}
_ACCOUNT_ANNOTATIONS: Final = {
    "kubernetes.io/enforce-mountable-secrets": (
        "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
    )
}
_VOLUME_SOURCES: Final = ("cephfs", "photonPersistentDisk", "scaleIO", "storageos", "glusterfs", "rbd")
_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be "
    "able to track completedIndexes when a big number of indexes fail"
)
_ZONE_IN_SCHEDULE: Final = (
    "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
    "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
)
_ALL_REVISIONS: Final = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)
_USED_IN_NAMES: Final = "Pod names and hostnames"


def find_warnings(document: Document, old: Document | None) -> list[str]:
    """Return the warnings about a valid object."""
    if "." in group_kind(document)[0] and not group_kind(document)[0].endswith(".k8s.io"):
        return list(finalizer_warnings(document, old))
    warn = _WARNINGS.get(group_kind(document))
    return [] if warn is None else list(warn(document, old))


def _annotated(document: Document, deprecated: dict[str, str]) -> Iterator[str]:
    return annotation_warnings("metadata.annotations", part(document, "metadata", "annotations"), deprecated)


# -- pods and workloads ----------------------------------------------------------------------------


def _name(document: Document, used_in: str) -> Iterator[str]:
    """Yield a warning about a name that is used in names of pods but is not a DNS label."""
    complaints = dns1123_label(document["metadata"].get("name") or "")
    if complaints:
        effect = "which can result in surprising behavior; a DNS label is recommended"
        yield f"metadata.name: this is used in {used_in}, {effect}: [{' '.join(complaints)}]"


def _pod(document: Document, old: Document | None) -> Iterator[str]:
    if old is None:
        yield from _name(document, "the Pod's hostname")
        yield from pod_warnings("", document)


def _workload(*path: str, names: bool = True) -> Warn:
    """Return the warnings of a kind with a pod template; `names` enables the check of its name."""

    def warn(document: Document, old: Document | None) -> Iterator[str]:
        if old is None and names:
            yield from _name(document, _USED_IN_NAMES)
        if old is None or not is_same(document.get(path[0]), old.get(path[0])):
            yield from pod_warnings(".".join(path), part(document, *path))

    return warn


def _stateful_set(document: Document, old: Document | None) -> Iterator[str]:
    yield from _workload("spec", "template", names=False)(document, old)
    inside = "" if old is None else ".Spec"
    for index, claim in enumerate(elements(document, "spec", "volumeClaimTemplates")):
        yield from claim_spec_warnings(f"spec.volumeClaimTemplates[{index}]{inside}", part(claim, "spec"))
    if (part(document, "spec").get("revisionHistoryLimit") or 0) < 0:
        yield _ALL_REVISIONS


def _job(*path: str) -> Warn:
    """Return the warnings of a kind with a Job spec at the path."""

    def warn(document: Document, old: Document | None) -> Iterator[str]:
        if old is None:
            yield from _name(document, _USED_IN_NAMES)
        spec = part(document, *path)
        if old is None or not is_same(document.get("spec"), old.get("spec")):
            is_many = (spec.get("completions") or 0) > 100_000 and (spec.get("parallelism") or 0) > 10_000
            if is_many and spec.get("completionMode") == "Indexed":
                yield f"{'.'.join(path)}: {_MANY_INDEXES}"
            yield from pod_warnings(f"{'.'.join(path)}.template", part(spec, "template"))
        if old is not None and "TZ" in str(part(document, "spec").get("schedule")):
            yield _ZONE_IN_SCHEDULE

    return warn


# -- other kinds -----------------------------------------------------------------------------------


def _service(document: Document, _: Document | None) -> Iterator[str]:
    spec = part(document, "spec")
    is_headless = spec.get("type") == "ClusterIP" and spec.get("clusterIP") == "None"
    is_named, external = spec.get("type") == "ExternalName", elements(spec, "externalIPs")
    if "service.kubernetes.io/topology-aware-hints" in part(document, "metadata", "annotations"):
        replacement = "please use service.kubernetes.io/topology-mode instead"
        yield f"annotation service.kubernetes.io/topology-aware-hints is deprecated, {replacement}"
    if is_headless:
        ignored = {"loadBalancerIP": spec.get("loadBalancerIP"), "externalIPs": external}
        yield from (f"spec.{name} is ignored for headless services" for name, value in ignored.items() if value)
        if spec.get("sessionAffinity") != "None":
            yield "spec.SessionAffinity is ignored for headless services"
    for index, value in enumerate(external):
        yield from ip_warnings(f"spec.externalIPs[{index}]", value)
    if external and not is_headless and not is_named:
        yield "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
    yield from ip_warnings("spec.loadBalancerIP", spec.get("loadBalancerIP") or "")
    for index, value in enumerate(elements(spec, "loadBalancerSourceRanges")):
        yield from cidr_warnings(f"spec.loadBalancerSourceRanges[{index}]", value)
    if is_named and external:
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if not is_named and spec.get("externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'
    if spec.get("trafficDistribution") == "PreferClose":
        yield 'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'


def _endpoints(document: Document, _: Document | None) -> Iterator[str]:
    yield _ENDPOINTS_DEPRECATED
    for index, subset in enumerate(elements(document, "subsets")):
        for name in ("addresses", "notReadyAddresses"):
            for number, address in enumerate(elements(subset, name)):
                yield from ip_warnings(f"subsets[{index}].{name}[{number}].ip", address.get("ip"))


def _endpoint_slice(document: Document, _: Document | None) -> Iterator[str]:
    if document.get("addressType") == "FQDN":
        yield "spec.addressType: FQDN endpoints are deprecated"
        return
    for index, endpoint in enumerate(elements(document, "endpoints")):
        for number, address in enumerate(elements(endpoint, "addresses")):
            yield from ip_warnings(f"endpoints[{index}].addresses[{number}]", address)


def _network_policy(document: Document, _: Document | None) -> Iterator[str]:
    for rules, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(elements(document, "spec", rules)):
            for number, peer in enumerate(elements(rule, peers)):
                block, path = part(peer, "ipBlock"), f"spec.{rules}[{index}].{peers}[{number}].ipBlock"
                yield from cidr_warnings(f"{path}.cidr", block.get("cidr") or "")
                for place, value in enumerate(elements(block, "except")):
                    yield from cidr_warnings(f"{path}.except[{place}]", value)


def _ingress(document: Document, old: Document | None) -> Iterator[str]:
    annotation = "kubernetes.io/ingress.class"
    is_annotated = annotation in part(document, "metadata", "annotations")
    if old is None and is_annotated and part(document, "spec").get("ingressClassName") is None:
        yield f"annotation {json.dumps(annotation)} is deprecated, please use 'spec.ingressClassName' instead"


def _claim(document: Document, _: Document | None) -> Iterator[str]:
    yield from _annotated(document, _CLAIM_ANNOTATIONS)
    yield from claim_spec_warnings("spec", part(document, "spec"))


def _volume(document: Document, _: Document | None) -> Iterator[str]:
    spec, path = part(document, "spec"), "spec.nodeAffinity.required.nodeSelectorTerms"
    yield from _annotated(document, _VOLUME_ANNOTATIONS)
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        yield _RECYCLE
    for index, term in enumerate(elements(spec, "nodeAffinity", "required", "nodeSelectorTerms")):
        yield from node_term_warnings(f"{path}[{index}]", term)
    yield from (
        f"spec.{'storageOS' if name == 'storageos' else name}: {VOLUME_SOURCES[name]}"
        for name in _VOLUME_SOURCES
        if spec.get(name) is not None
    )


def _storage_class(document: Document, _: Document | None) -> Iterator[str]:
    for index, topology in enumerate(elements(document, "allowedTopologies")):
        for number, expression in enumerate(elements(topology, "matchLabelExpressions")):
            if (key := expression.get("key")) in NODE_LABELS:
                yield f"allowedTopologies[{index}].matchLabelExpressions[{number}].key: {NODE_LABELS[key]}"


def _runtime_class(document: Document, _: Document | None) -> Iterator[str]:
    for key in part(document, "scheduling", "nodeSelector"):
        if key in NODE_LABELS:
            yield f"scheduling.nodeSelector: {NODE_LABELS[key]}"


def _csi_driver(document: Document, old: Document | None) -> Iterator[str]:
    spec = part(document, "spec")
    requests, before = elements(spec, "tokenRequests"), elements(old or {}, "spec", "tokenRequests")
    if requests and spec.get("serviceAccountTokenInSecrets") is None and not is_same(requests, before):
        yield _TOKENS_IN_CONTEXT


def _node(document: Document, _: Document | None) -> Iterator[str]:
    spec = part(document, "spec")
    if spec.get("configSource") is not None:
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"
    for index, value in enumerate(elements(spec, "podCIDRs")):
        yield from cidr_warnings(f"spec.podCIDRs[{index}]", value)


def _service_account(document: Document, old: Document | None) -> Iterator[str]:
    if not list(_annotated(old or {}, _ACCOUNT_ANNOTATIONS)):
        yield from _annotated(document, _ACCOUNT_ANNOTATIONS)


def _resource_slice(document: Document, _: Document | None) -> Iterator[str]:
    driver = part(document, "spec").get("driver") or ""
    if driver != driver.lower():
        yield f'spec.driver: driver names should be lowercase; "{driver}" contains uppercase characters'


_WARNINGS: Final[Mapping[tuple[str, str], Warn]] = {
    ("", "Pod"): _pod,
    ("", "PodTemplate"): _workload("template", names=False),
    ("", "ReplicationController"): _workload("spec", "template"),
    ("apps", "DaemonSet"): _workload("spec", "template", names=False),
    ("apps", "Deployment"): _workload("spec", "template"),
    ("apps", "ReplicaSet"): _workload("spec", "template"),
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "CronJob"): _job("spec", "jobTemplate", "spec"),
    ("batch", "Job"): _job("spec"),
    ("", "Endpoints"): _endpoints,
    ("", "Node"): _node,
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Service"): _service,
    ("", "ServiceAccount"): _service_account,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
    ("networking.k8s.io", "Ingress"): _ingress,
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    ("node.k8s.io", "RuntimeClass"): _runtime_class,
    ("resource.k8s.io", "ResourceSlice"): _resource_slice,
    ("storage.k8s.io", "CSIDriver"): _csi_driver,
    ("storage.k8s.io", "StorageClass"): _storage_class,
}
