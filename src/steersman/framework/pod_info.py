# SPDX-License-Identifier: Apache-2.0
"""A pod as the scheduler handles it: the API object plus everything that is computed from it once.

Pods of one template share the expensive part, `PodShape`: requests, ports, parsed affinity terms. Shapes are interned
by the encoded scheduling-relevant spec, so that a thousand replicas cost one parse. Labels are not part of the shape:
replicas of a StatefulSet differ in them. A shape with labels and a controller is a `PodTemplate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

import msgspec

from steersman.api import (
    Container,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    WeightedPodAffinityTerm,
)
from steersman.api.field_errors import aggregate
from steersman.api.selectors import Selector, from_label_selector
from steersman.bounded_table import SharedTable
from steersman.errors import InputError
from steersman.framework.pod_resources import CORE_RESOURCES, nonzero_requests, pod_requests
from steersman.framework.shape_keys import keeps_shape, pinned_node, shape_key
from steersman.graph_copy import shared_by_copies
from steersman.kept import Kept

#: (host IP, protocol, port); an empty or absent IP is `ANY_ADDRESS`.
HostPort = tuple[str, str, int]
#: Stands for every address of the node.
ANY_ADDRESS = "0.0.0.0"

DEFAULT_SCHEDULER_NAME = "default-scheduler"


@shared_by_copies
class AffinityTerm(msgspec.Struct, frozen=True):
    """One (anti-)affinity term with its selectors compiled. Hashable: equal terms share their count tables."""

    topology_key: str
    selector: Selector
    #: Namespaces named by the term; the pod's own when it names none and has no namespace selector.
    namespaces: frozenset[str]
    #: Matches nothing when the term has no namespace selector, everything when it has an empty one.
    namespace_selector: Selector
    #: Of a preferred term, 1..100; 0 for a required one.
    weight: int = 0

    def matches(self, pod: PodInfo, namespace_labels: Mapping[str, str]) -> bool:
        """Whether `pod`, whose namespace has the given labels, is among the pods the term speaks of."""
        return self.selects(pod.namespace, pod.labels, namespace_labels)

    def selects(self, namespace: str, labels: Mapping[str, str], namespace_labels: Mapping[str, str]) -> bool:
        """Whether the term speaks of a pod of which only namespace and labels are at hand."""
        if namespace in self.namespaces or self.namespace_selector.matches(namespace_labels):
            return self.selector.matches(labels)
        return False


@shared_by_copies
class PodShape:
    """The part of a pod that all pods of one template share. Immutable once built."""

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

    def __init__(self, pod: Pod, key: bytes = b"") -> None:
        """`key` is all that it follows from (`shape_key`)."""
        self.spec: PodSpec = pod.spec
        #: Stands for the shape in tables that must not keep it alive.
        self.token = object()
        #: Equal for equal shapes, also for one that has gone and one that has come back.
        self.fingerprint = hash(key)
        self.is_large = len(key) > _LARGE_KEY
        self.requests: dict[str, int] = pod_requests(pod)
        #: Those that are neither cpu nor memory nor ephemeral storage.
        self.requests_others = tuple((name, n) for name, n in self.requests.items() if n and name not in CORE_RESOURCES)
        self.nonzero_cpu, self.nonzero_memory = nonzero_requests(pod)
        self.host_ports: tuple[HostPort, ...] = tuple(host_ports(pod.spec))
        #: Each of its pods may run on one node only, `PodInfo.pinned_to`.
        self.is_pinned = bool(pinned_node(pod.spec))
        self.has_affinity = _affinity(pod) is not None or _anti_affinity(pod) is not None
        errors: list[str] = []
        self.required_affinity = _parsed(required_affinity_terms, pod, "requiredAffinityTerms", errors)
        self.required_anti_affinity = _parsed(required_anti_affinity_terms, pod, "requiredAntiAffinityTerms", errors)
        self.preferred_affinity = _parsed(preferred_affinity_terms, pod, "preferredAffinityTerms", errors)
        self.preferred_anti_affinity = _parsed(preferred_anti_affinity_terms, pod, "preferredAntiAffinityTerms", errors)
        #: What is wrong with the pod's affinity terms, "" if nothing is. Terms of a kind with an error are left out.
        self.affinity_error = aggregate(errors) if errors else ""
        #: Its pods name volume claims, each its own: `PodInfo.claims`.
        self.names_claims = any(volume.persistent_volume_claim is not None for volume in pod.spec.volumes)
        #: Volume claims of either kind: those that pods name, and those that are made for them.
        self.has_claims = self.names_claims or any(volume.ephemeral is not None for volume in pod.spec.volumes)


def _no_signature() -> None:
    """Nothing was found yet."""


@shared_by_copies
class PodTemplate:
    """Stands for all pods of one shape with the same labels and the same controller. Compared by identity: whoever has
    found out something about such a pod may keep it for the others. Forks of a simulation have the same templates: what is
    kept there names its owner, and is found again by others."""

    __slots__ = ("__weakref__", "label_class", "shape", "signature", "signature_as_of")

    def __init__(self, shape: PodShape) -> None:
        self.shape = shape
        #: Set and used by `engine`: gives the signature that was found for such a pod as long as it is kept, and what stands
        #: for the state of things in which it was found.
        self.signature: Callable[[], Any] = _no_signature
        self.signature_as_of: object | None = None
        #: Set and used by `state`: which count tables the pods belong to, as long as they are not terminating.
        self.label_class: object | None = None


@shared_by_copies
class PodInfo:
    """One pod with its template. `pod` is replaced when the API object changes; the rest follows from it.

    Forks of a simulation share it until one of them has a newer version of the pod (`state.cache`)."""

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
        self.renew(pod)
        self.template = template
        self.shape = template.shape
        self.name = meta.name
        self.namespace = meta.namespace
        self.key = f"{meta.namespace}/{meta.name}"
        self.uid = meta.uid
        self.labels: Mapping[str, str] = meta.labels
        self.scheduler_name = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        #: Keys of the volume claims that it names.
        self.claims: tuple[str, ...] = tuple(claim_keys(pod)) if template.shape.names_claims else ()
        #: The only node that it may run on, as far as its node affinity goes; "": any.
        self.pinned_to = pinned_node(pod.spec) if template.shape.is_pinned else ""

    def renew(self, pod: Pod) -> None:
        """A newer version of the pod, of the same template."""
        self.pod = pod
        self.node_name = pod.spec.node_name
        self.priority: int = pod.spec.priority or 0
        self.is_terminating = pod.metadata.deletion_timestamp is not None
        #: Where room is being made for it, according to its status; "": nowhere.
        self.nominated_node = pod.status.nominated_node_name

    def __copy__(self) -> PodInfo:
        copied = PodInfo.__new__(PodInfo)
        for name in PodInfo.__slots__:
            setattr(copied, name, getattr(self, name))
        return copied

    def __reduce__(self) -> tuple[Callable[[Pod], PodInfo], tuple[Pod]]:
        """Travels as the API object: templates belong to one scheduler."""
        return _parsed_anew, (self.pod,)

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


#: Shapes and templates that no pod has at the moment, but the next one may. Making one anew takes some ten microseconds.
_SPARE_SHAPES = 1 << 7
_SPARE_TEMPLATES = 1 << 7
#: What follows from a key of more bytes is not kept for nobody: terms of affinity, parsed, take twenty times their text.
_LARGE_KEY = 1 << 13

#: The identity of a shape, labels, controller. A template refers to its shape: as long as the template is there, no other
#: shape has that identity.
TemplateKey = tuple[int, tuple[tuple[str, str], ...], tuple[str, str, str] | None]


POD_SHAPES = Kept(
    name="shapes",
    attributes=("PodShapes._by_key",),
    holds="what the pods of a template share: requests, ports, parsed affinity",
    key="the part of a pod that decides anything (`shape_key`)",
    stamps="never: the key is all that it follows from",
    bound="those that a pod has, and 128 spare ones that are not large (`SharedTable`)",
    twin="`PodShape` of the pod",
)


POD_TEMPLATES = Kept(
    name="templates",
    attributes=("PodShapes._templates",),
    holds="shape, label class and signature of pods that nothing but their name tells apart",
    key="shape, labels, controller",
    stamps="never; what it refers to has stamps of its own",
    bound="those that a pod has, and 128 spare ones that are not large (`SharedTable`)",
    twin="`PodTemplate` of the pod",
    held_equal="tests/equivalence/test_engines_agree.py",
)


class PodShapes:
    """Interns shapes and templates: `info(pod)` is the only way in which the scheduler makes a PodInfo."""

    def __init__(self) -> None:
        self._by_key: SharedTable[bytes, PodShape] = SharedTable(_SPARE_SHAPES, is_large=attrgetter("is_large"))
        self._templates: SharedTable[TemplateKey, PodTemplate] = SharedTable(
            _SPARE_TEMPLATES, is_large=attrgetter("shape.is_large")
        )

    def info(self, pod: Pod) -> PodInfo:
        key = shape_key(pod)
        shape = self._by_key.get(key)
        if shape is None:
            shape = PodShape(pod, key)
            self._by_key.put(key, shape)
        return PodInfo(pod, self._template(pod, shape))

    def updated(self, old: PodInfo, pod: Pod) -> PodInfo:
        """The info of a newer version of the same pod: cheap when everything that makes its shape is the very same."""
        if not keeps_shape(old.pod, pod):
            return self.info(pod)
        meta, before = pod.metadata, old.pod.metadata
        same = meta.labels == before.labels and meta.owner_references == before.owner_references
        return PodInfo(pod, old.template if same else self._template(pod, old.shape))

    def same_shape(self, old: PodInfo, pod: Pod) -> bool:
        """Whether a newer version of the pod has the same shape and the same claims, on the same node if it is pinned."""
        if keeps_shape(old.pod, pod):
            return True
        new = self.info(pod)
        return new.shape is old.shape and new.claims == old.claims and new.pinned_to == old.pinned_to

    def relabelled(self, old: PodInfo, pod: Pod) -> PodInfo:
        """The info of a newer version of the pod that has the `same_shape`."""
        return PodInfo(pod, self._template(pod, old.shape))

    def _template(self, pod: Pod, shape: PodShape) -> PodTemplate:
        key = (id(shape), tuple(pod.metadata.labels.items()), controller_of(pod))
        known = self._templates.get(key)
        if known is None:
            known = PodTemplate(shape)
            self._templates.put(key, known)
        return known

    def kept(self) -> dict[str, int]:
        """Number of entries by table."""
        return {"shapes": len(self._by_key), "templates": len(self._templates)}

    def __len__(self) -> int:
        return len(self._by_key)


def _parsed_anew(pod: Pod) -> PodInfo:
    """The info of a pod that comes from another process."""
    return PodShapes().info(pod)


def controller_of(pod: Pod) -> tuple[str, str, str] | None:
    """API version, kind and name of the object that made the pod and answers for it."""
    for owner in pod.metadata.owner_references:
        if owner.controller:
            return owner.api_version, owner.kind, owner.name
    return None


def host_ports(spec: PodSpec) -> Iterable[HostPort]:
    """Host ports of the containers and of restartable init containers, in the order of the spec."""
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
    """The terms of required pod affinity. Raises `InputError` for a selector that is none, as the three below do."""
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
    """The API server admits some selectors that cannot be compiled: the scheduler says so when the pod has its turn."""
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
