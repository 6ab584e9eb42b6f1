# SPDX-License-Identifier: Apache-2.0
"""A pod as the scheduler handles it: the API object plus values that are computed from it once.

Pods of one template share the expensive part, `PodShape`: requests, ports, parsed affinity terms.
Shapes are interned by the encoded scheduling-relevant spec, so that a thousand replicas are parsed
once. Labels are not part of the shape, because they differ between replicas of a StatefulSet. A
shape with labels and a controller is a `PodTemplate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

import msgspec

from steersman.api import (
    DEFAULT_SCHEDULER_NAME,
    Container,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    Selector,
    WeightedPodAffinityTerm,
    aggregate,
    from_label_selector,
)
from steersman.base import CacheSpec, InputError, WeakValueCache
from steersman.base.graph_copy import shared_by_copies
from steersman.framework.pod_resources import CORE_RESOURCES, nonzero_requests, pod_requests
from steersman.framework.shape_keys import is_shape_unchanged, pinned_node, shape_key

#: (host IP, protocol, port); an empty or absent IP is `ANY_ADDRESS`.
HostPort = tuple[str, str, int]
#: Every address of the node.
ANY_ADDRESS = "0.0.0.0"


@shared_by_copies
class AffinityTerm(msgspec.Struct, frozen=True):
    """One (anti-)affinity term with compiled selectors. Hashable: equal terms share count
    tables."""

    topology_key: str
    selector: Selector
    #: Namespaces named by the term, or the pod's own if it has neither names nor a namespace
    #: selector.
    namespaces: frozenset[str]
    #: Matches nothing if the term has no namespace selector, and everything if it has an empty one.
    namespace_selector: Selector
    #: Weight of a preferred term, 1..100; 0 for a required one.
    weight: int = 0

    def matches(self, pod: PodInfo, namespace_labels: Mapping[str, str]) -> bool:
        """Return whether the term matches the pod, whose namespace has these labels."""
        return self.selects(pod.namespace, pod.labels, namespace_labels)

    def selects(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Return whether the term matches a pod with these labels in the namespace."""
        if namespace in self.namespaces or self.namespace_selector.matches(namespace_labels):
            return self.selector.matches(labels)
        return False


@shared_by_copies
class PodShape:
    """Values shared by all pods with an equal spec. Immutable once built."""

    __slots__ = (
        "__weakref__",
        "affinity_error",
        "fingerprint",
        "has_affinity",
        "has_claims",
        "host_ports",
        "is_large",
        "is_pinned",
        "names_claims",
        "nonzero_cpu",
        "nonzero_memory",
        "preferred_affinity",
        "preferred_anti_affinity",
        "requests",
        "requests_others",
        "required_affinity",
        "required_anti_affinity",
        "spec",
        "token",
    )

    def __init__(self, pod: Pod, key: bytes = b"", *, resize_by_totals: bool = False) -> None:
        """`key` is the `shape_key` of the pod; `resize_by_totals` selects the rule for resized
        pods."""
        self.spec: PodSpec = pod.spec
        #: Identity of the shape for tables that must not keep it alive.
        self.token = object()
        #: Hash of the key: equal for equal shapes, also after a shape was freed and built again.
        self.fingerprint = hash(key)
        self.is_large = len(key) > _LARGE_KEY
        self.requests: dict[str, int] = pod_requests(pod, by_totals=resize_by_totals)
        #: Requests other than cpu, memory and ephemeral storage.
        self.requests_others = tuple((name, n) for name, n in self.requests.items() if n and name not in CORE_RESOURCES)
        self.nonzero_cpu, self.nonzero_memory = nonzero_requests(pod, by_totals=resize_by_totals)
        self.host_ports: tuple[HostPort, ...] = tuple(host_ports(pod.spec))
        #: Whether each of its pods can run on one node only (`PodInfo.pinned_to`).
        self.is_pinned = bool(pinned_node(pod.spec))
        self.has_affinity = _affinity(pod) is not None or _anti_affinity(pod) is not None
        errors: list[str] = []
        self.required_affinity = _parsed(required_affinity_terms, pod, "requiredAffinityTerms", errors)
        self.required_anti_affinity = _parsed(required_anti_affinity_terms, pod, "requiredAntiAffinityTerms", errors)
        self.preferred_affinity = _parsed(preferred_affinity_terms, pod, "preferredAffinityTerms", errors)
        self.preferred_anti_affinity = _parsed(preferred_anti_affinity_terms, pod, "preferredAntiAffinityTerms", errors)
        #: Error in the pod's affinity terms, or "". All terms of the kind with the error are left
        #: out.
        self.affinity_error = aggregate(errors) if errors else ""
        #: Whether its pods name volume claims, each its own (`PodInfo.claims`).
        self.names_claims = any(volume.persistent_volume_claim is not None for volume in pod.spec.volumes)
        #: Whether its pods have volume claims, named or ephemeral.
        self.has_claims = self.names_claims or any(volume.ephemeral is not None for volume in pod.spec.volumes)


def _no_signature() -> None:
    """Initial value of `PodTemplate.signature`."""


@shared_by_copies
class PodTemplate:
    """All pods with the same shape, labels and controller. Compared by identity, so values computed
    for one pod can be cached for the others.

    Forks of a simulation share templates: cached values name their owner, and other owners compute
    their own.
    """

    __slots__ = ("__weakref__", "label_class", "shape", "signature", "signature_version")

    def __init__(self, shape: PodShape) -> None:
        self.shape = shape
        #: Used by `engine`: returns the cached signature of such a pod, if it is alive, and the
        #: version it was found with.
        self.signature: Callable[[], Any] = _no_signature
        self.signature_version: object | None = None
        #: Used by `state`: the count tables that match the pods as long as they are not
        #: terminating.
        self.label_class: object | None = None


@shared_by_copies
class PodInfo:
    """One pod with its template. `pod` is replaced when the API object changes; other values follow
    from it.

    Forks of a simulation share it until one of them gets a newer version of the pod
    (`state.cache`).
    """

    __slots__ = (
        "claims",
        "is_terminating",
        "key",
        "labels",
        "name",
        "namespace",
        "node_name",
        "nominated_node",
        "pinned_to",
        "pod",
        "priority",
        "scheduler_name",
        "shape",
        "template",
        "uid",
    )

    def __init__(self, pod: Pod, template: PodTemplate) -> None:
        meta = pod.metadata
        self.update(pod)
        self.template = template
        self.shape = template.shape
        self.name = meta.name
        self.namespace = meta.namespace
        self.key = f"{meta.namespace}/{meta.name}"
        self.uid = meta.uid
        self.labels: Mapping[str, str] = meta.labels
        self.scheduler_name = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        #: Keys of the volume claims named by the pod.
        self.claims: tuple[str, ...] = tuple(claim_keys(pod)) if template.shape.names_claims else ()
        #: The only node allowed by the pod's node affinity, or "" for no such restriction.
        self.pinned_to = pinned_node(pod.spec) if template.shape.is_pinned else ""

    def update(self, pod: Pod) -> None:
        """Replace the API object by a newer version with the same template."""
        self.pod = pod
        self.node_name = pod.spec.node_name
        self.priority: int = pod.spec.priority or 0
        self.is_terminating = pod.metadata.deletion_timestamp is not None
        #: Node of `status.nominatedNodeName`, or "".
        self.nominated_node = pod.status.nominated_node_name

    def __copy__(self) -> PodInfo:
        copied = PodInfo.__new__(PodInfo)
        for name in PodInfo.__slots__:
            setattr(copied, name, getattr(self, name))
        return copied

    def __reduce__(self) -> tuple[Callable[[Pod], PodInfo], tuple[Pod]]:
        """Pickle the API object only: templates belong to one scheduler."""
        return _from_pod, (self.pod,)

    @property
    def spec(self) -> PodSpec:
        return self.pod.spec

    @property
    def annotations(self) -> Mapping[str, str]:
        return self.pod.metadata.annotations

    def requests(self, resource: str) -> int:
        return self.shape.requests.get(resource, 0)

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


#: Number of unused shapes and templates kept for the next pod. Building one takes about ten
#: microseconds.
_SPARE_SHAPES = 1 << 7
_SPARE_TEMPLATES = 1 << 7
#: Shapes with larger keys are freed with their last pod: parsed affinity terms take twenty times
#: the size of their text.
_LARGE_KEY = 1 << 13

#: Identity of a shape, labels, controller. A template references its shape, so the identity stays
#: unique while the template exists.
TemplateKey = tuple[int, tuple[tuple[str, str], ...], tuple[str, str, str] | None]


POD_SHAPES = CacheSpec(
    name="shapes",
    attributes=("PodShapes._by_key",),
    contents="what pods with an equal spec share: requests, ports, parsed affinity",
    key="the fields of a pod that affect scheduling (`shape_key`)",
    invalidation="never: it depends on the key only",
    limit="those of existing pods, and 128 spare small ones (`WeakValueCache`)",
    reference="`PodShape` of the pod",
)


POD_TEMPLATES = CacheSpec(
    name="templates",
    attributes=("PodShapes._templates",),
    contents="shape, label class and signature of pods that differ in their name only",
    key="shape, labels, controller",
    invalidation="never: the values that it refers to have versions of their own",
    limit="those of existing pods, and 128 spare small ones (`WeakValueCache`)",
    reference="`PodTemplate` of the pod",
    checked_by="tests/equivalence/test_engines_agree.py",
)


class PodShapes:
    """Interns shapes and templates. The scheduler creates every PodInfo with `info(pod)`.

    `resize_by_totals` is the rule of v1.37 for resized pods (`pod_resources`).
    """

    def __init__(self, *, resize_by_totals: bool = False) -> None:
        self._resize_by_totals = resize_by_totals
        self._by_key: WeakValueCache[bytes, PodShape] = WeakValueCache(_SPARE_SHAPES, is_large=attrgetter("is_large"))
        self._templates: WeakValueCache[TemplateKey, PodTemplate] = WeakValueCache(
            _SPARE_TEMPLATES, is_large=attrgetter("shape.is_large")
        )

    def info(self, pod: Pod) -> PodInfo:
        key = shape_key(pod)
        shape = self._by_key.get(key)
        if shape is None:
            shape = PodShape(pod, key, resize_by_totals=self._resize_by_totals)
            self._by_key.put(key, shape)
        return PodInfo(pod, self._template(pod, shape))

    def updated(self, old: PodInfo, pod: Pod) -> PodInfo:
        """Return the info of a newer version of the same pod; cheap if the fields of its shape are
        unchanged."""
        if not is_shape_unchanged(old.pod, pod):
            return self.info(pod)
        meta, before = pod.metadata, old.pod.metadata
        same = meta.labels == before.labels and meta.owner_references == before.owner_references
        return PodInfo(pod, old.template if same else self._template(pod, old.shape))

    def has_same_shape(self, old: PodInfo, pod: Pod) -> bool:
        """Return whether a newer version of the pod has the same shape, claims and pinned node."""
        if is_shape_unchanged(old.pod, pod):
            return True
        new = self.info(pod)
        return new.shape is old.shape and new.claims == old.claims and new.pinned_to == old.pinned_to

    def with_new_labels(self, old: PodInfo, pod: Pod) -> PodInfo:
        """Return the info of a newer version of the pod for which `has_same_shape` is true."""
        return PodInfo(pod, self._template(pod, old.shape))

    def _template(self, pod: Pod, shape: PodShape) -> PodTemplate:
        key = (id(shape), tuple(pod.metadata.labels.items()), controller_of(pod))
        known = self._templates.get(key)
        if known is None:
            known = PodTemplate(shape)
            self._templates.put(key, known)
        return known

    def cache_sizes(self) -> dict[str, int]:
        """Return the number of entries by cache."""
        return {"shapes": len(self._by_key), "templates": len(self._templates)}

    def __len__(self) -> int:
        return len(self._by_key)


def _from_pod(pod: Pod) -> PodInfo:
    """Return the info of an unpickled pod."""
    return PodShapes().info(pod)


def controller_of(pod: Pod) -> tuple[str, str, str] | None:
    """Return API version, kind and name of the controlling owner, or None."""
    for owner in pod.metadata.owner_references:
        if owner.controller:
            return owner.api_version, owner.kind, owner.name
    return None


def host_ports(spec: PodSpec) -> Iterable[HostPort]:
    """Yield the host ports of containers and restartable init containers, in the order of the
    spec."""
    for container in spec.containers:
        yield from _container_ports(container)
    for container in spec.init_containers:
        if container.restart_policy == "Always":
            yield from _container_ports(container)


def _container_ports(container: Container) -> Iterable[HostPort]:
    for port in container.ports:
        if port.host_port > 0:
            yield port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port


def claim_keys(pod: Pod) -> Iterable[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield f"{pod.metadata.namespace}/{volume.persistent_volume_claim.claim_name}"


def required_affinity_terms(pod: Pod) -> tuple[AffinityTerm, ...]:
    """Return the terms of required pod affinity. Raises `InputError` for an invalid selector, as
    the next three functions do."""
    near = _affinity(pod)
    return tuple(_term(pod, t, 0) for t in (near.required_during_scheduling_ignored_during_execution if near else ()))


def required_anti_affinity_terms(pod: Pod) -> tuple[AffinityTerm, ...]:
    apart = _anti_affinity(pod)
    return tuple(_term(pod, t, 0) for t in (apart.required_during_scheduling_ignored_during_execution if apart else ()))


def preferred_affinity_terms(pod: Pod) -> tuple[AffinityTerm, ...]:
    near = _affinity(pod)
    return _weighted(pod, near.preferred_during_scheduling_ignored_during_execution if near else ())


def preferred_anti_affinity_terms(pod: Pod) -> tuple[AffinityTerm, ...]:
    apart = _anti_affinity(pod)
    return _weighted(pod, apart.preferred_during_scheduling_ignored_during_execution if apart else ())


def _affinity(pod: Pod) -> PodAffinity | None:
    return pod.spec.affinity.pod_affinity if pod.spec.affinity is not None else None


def _anti_affinity(pod: Pod) -> PodAntiAffinity | None:
    return pod.spec.affinity.pod_anti_affinity if pod.spec.affinity is not None else None


def _parsed(
    parse: Callable[[Pod], tuple[AffinityTerm, ...]], pod: Pod, kind: str, errors: list[str]
) -> tuple[AffinityTerm, ...]:
    """Return the parsed terms. The API server admits some selectors that cannot be compiled; they
    are reported when the pod is scheduled."""
    try:
        return parse(pod)
    except InputError as problem:
        errors.append(f"{kind}: {problem}")
        return ()


def _weighted(pod: Pod, terms: Iterable[WeightedPodAffinityTerm]) -> tuple[AffinityTerm, ...]:
    return tuple(_term(pod, term.pod_affinity_term, term.weight) for term in terms)


def _term(pod: Pod, term: PodAffinityTerm, weight: int) -> AffinityTerm:
    names = term.namespaces
    if not names and term.namespace_selector is None:
        names = (pod.metadata.namespace,)
    return AffinityTerm(
        topology_key=term.topology_key,
        selector=from_label_selector(term.label_selector),
        namespaces=frozenset(names),
        namespace_selector=from_label_selector(term.namespace_selector),
        weight=weight,
    )
