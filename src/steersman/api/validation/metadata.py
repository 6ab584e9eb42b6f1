# SPDX-License-Identifier: Apache-2.0
"""Validation of object metadata: names, labels, finalizers and immutable fields.

Upstream validates metadata up to four times: for all objects (`registry/rest`) and by kind, on
updates by the rules for new and for changed objects. The causes in a Status repeat each error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from steersman.api import label_syntax
from steersman.api.json_values import Document, elements, group_kind, is_same
from steersman.api.validation.checks import (
    IMMUTABLE,
    Format,
    annotation_map,
    dns1123_label,
    dns1123_subdomain,
    labels,
    path_segment_name,
)
from steersman.api.validation.field_errors import FieldError


class MetadataRules(msgspec.Struct, frozen=True):
    """Rules by which upstream's functions of a kind validate its metadata."""

    name_format: Format = dns1123_subdomain
    #: Whether `generateName` must have the format, too.
    checks_prefix: bool = True
    #: Whether finalizers must have a domain unless they are Kubernetes' own.
    checks_finalizers: bool = True
    #: How many times an update is validated by the rules for new objects.
    full_checks_on_update: int = 0
    #: Whether the kind's functions repeat the checks of changed metadata.
    checks_change: bool = True
    #: Whether the causes in a Status repeat an error that several functions find.
    repeats_errors: bool = True


_DEFAULT: Final = MetadataRules()
_REVALIDATED: Final = MetadataRules(full_checks_on_update=1)
_REVALIDATED_ONLY: Final = MetadataRules(full_checks_on_update=1, checks_change=False)
_ANY_FINALIZER: Final = MetadataRules(checks_finalizers=False)
_UNCHECKED: Final = MetadataRules(path_segment_name, checks_finalizers=False, checks_change=False)
_NOT_REPEATED: Final = MetadataRules(repeats_errors=False)
_NAME_OF_ROLE: Final = MetadataRules(path_segment_name, full_checks_on_update=1)
_RBAC: Final = "rbac.authorization.k8s.io"
_DRA: Final = "resource.k8s.io"
_SCHEDULING: Final = "scheduling.k8s.io"

_BY_KIND: Final[Mapping[tuple[str, str], MetadataRules]] = {
    **{
        ("", kind): _REVALIDATED
        for kind in ("ConfigMap", "Endpoints", "Node", "PersistentVolumeClaim", "Pod", "Secret", "ServiceAccount")
    },
    ("", "Event"): _UNCHECKED,
    ("", "LimitRange"): _REVALIDATED_ONLY,
    ("", "Namespace"): MetadataRules(dns1123_label, full_checks_on_update=1),
    ("", "PersistentVolume"): MetadataRules(full_checks_on_update=2, checks_change=False),
    ("", "ReplicationController"): MetadataRules(checks_prefix=False),
    ("", "Service"): MetadataRules(dns1123_label),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _ANY_FINALIZER,
    ("apiregistration.k8s.io", "APIService"): MetadataRules(path_segment_name, checks_finalizers=False),
    ("apps", "StatefulSet"): MetadataRules(dns1123_label),
    ("batch", "Job"): _REVALIDATED,
    ("coordination.k8s.io", "Lease"): _ANY_FINALIZER,
    ("discovery.k8s.io", "EndpointSlice"): _REVALIDATED_ONLY,
    ("networking.k8s.io", "IPAddress"): MetadataRules(path_segment_name),
    ("networking.k8s.io", "Ingress"): _REVALIDATED,
    ("node.k8s.io", "RuntimeClass"): MetadataRules(checks_finalizers=False, full_checks_on_update=1),
    ("policy", "PodDisruptionBudget"): _UNCHECKED,
    **{(_RBAC, kind): _NAME_OF_ROLE for kind in ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")},
    (_DRA, "DeviceClass"): MetadataRules(checks_prefix=False, full_checks_on_update=1),
    (_DRA, "ResourceClaim"): _REVALIDATED,
    (_DRA, "ResourceClaimTemplate"): _REVALIDATED,
    **{(_SCHEDULING, kind): _NOT_REPEATED for kind in ("CompositePodGroup", "PodGroup", "Workload")},
    ("storage.k8s.io", "CSINode"): _REVALIDATED_ONLY,
    ("storage.k8s.io", "StorageClass"): _REVALIDATED,
}
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})


def with_metadata_errors(document: Document, errors: Iterable[FieldError]) -> list[FieldError]:
    """Return the errors in the metadata of a new object and the given ones of its kind, in
    upstream's order.

    Metadata that the kind's functions do not check is checked if these find nothing."""
    found = list(validate_metadata(document, None))
    own = list(errors)
    is_last = _BY_KIND.get(group_kind(document)) is _UNCHECKED
    return (own or found) if is_last else [*found, *own]


def validate_metadata(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors in the metadata of a new object or of one that replaces `old`."""
    metadata, group = document["metadata"], group_kind(document)[0]
    custom = "." in group and not group.endswith(".k8s.io")
    rules = _ANY_FINALIZER if custom else _BY_KIND.get(group_kind(document), _DEFAULT)
    errors = _all_errors(metadata, None if old is None else old["metadata"], rules)
    yield from errors if rules.repeats_errors else dict.fromkeys(errors)


def _all_errors(metadata: Document, old: Document | None, rules: MetadataRules) -> Iterator[FieldError]:
    if old is None:
        yield from _errors(metadata, rules)
        return
    yield from _errors(metadata, _UNCHECKED)
    yield from _change_errors(metadata, old)
    for _ in range(rules.full_checks_on_update):
        yield from _errors(metadata, rules)
    if rules.checks_change:
        yield from _change_errors(metadata, old)
        yield from _finalizer_domains(metadata, rules)


def _errors(metadata: Document, rules: MetadataRules) -> Iterator[FieldError]:
    prefix, name = metadata.get("generateName") or "", metadata.get("name") or ""
    prefix_format = rules.name_format if rules.checks_prefix else path_segment_name
    if prefix:
        sample = f"{prefix[:-2]}a" if prefix.endswith("-") and len(prefix) > 1 else prefix
        for complaint in prefix_format(prefix if prefix_format is path_segment_name else sample):
            yield FieldError.invalid("metadata.generateName", prefix, complaint)
    if not name:
        yield FieldError.required("metadata.name", "name or generateName is required")
    for complaint in rules.name_format(name) if name else ():
        yield FieldError.invalid("metadata.name", name, complaint)
    yield from _label_errors(metadata)
    names = elements(metadata, "finalizers")
    for finalizer in names:
        yield from _qualified("metadata.finalizers", finalizer)
    if {"orphan", "foregroundDeletion"} <= {*names}:
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        yield FieldError.invalid("metadata.finalizers", names, detail)
    yield from _finalizer_domains(metadata, rules)


def _label_errors(metadata: Document) -> Iterator[FieldError]:
    yield from labels("metadata.labels", metadata.get("labels"))
    yield from annotation_map("metadata.annotations", metadata.get("annotations"))
    yield from _owner_errors("metadata.ownerReferences", elements(metadata, "ownerReferences"))


def _owner_errors(path: str, owners: list[Any]) -> Iterator[FieldError]:
    controller = ""
    for owner in owners:
        version = owner.get("apiVersion") or ""
        if not version.rpartition("/")[2] or version.count("/") > 1:
            yield FieldError.invalid(f"{path}.apiVersion", version, "version must not be empty")
        for name in ("kind", "name", "uid"):
            if not owner.get(name):
                yield FieldError.invalid(f"{path}.{name}", "", "must not be empty")
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            yield FieldError.invalid(path, owner, "/v1, Kind=Event is disallowed from being an owner")
        if owner.get("controller"):
            current = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                found = f'Found "true" in references for {controller} and {current}'
                detail = f"Only one reference can have Controller set to true. {found}"
                yield FieldError.invalid(path, owners, detail)
            controller = controller or current


def _change_errors(new: Document, old: Document) -> Iterator[FieldError]:
    added = sorted({*elements(new, "finalizers")} - {*elements(old, "finalizers")})
    if old.get("deletionTimestamp") and added:
        quoted = ", ".join(f'"{name}"' for name in added)
        detail = (
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{quoted}}}"
        )
        yield FieldError.forbidden("metadata.finalizers", detail)
    for name in ("uid", "deletionTimestamp", "deletionGracePeriodSeconds"):
        if not is_same(new.get(name), old.get(name)):
            yield FieldError.invalid(f"metadata.{name}", new.get(name), IMMUTABLE)
    yield from _label_errors(new)


def _qualified(path: str, name: str) -> Iterator[FieldError]:
    yield from (FieldError.invalid(path, name, complaint) for complaint in label_syntax.key_errors(name))


def _finalizer_domains(metadata: Document, rules: MetadataRules) -> Iterator[FieldError]:
    for index, name in enumerate(elements(metadata, "finalizers") if rules.checks_finalizers else ()):
        yield from _standard_finalizer(f"metadata.finalizers[{index}]", name)


def _standard_finalizer(path: str, name: str) -> Iterator[FieldError]:
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        detail = "name is neither a standard finalizer name nor is it fully qualified"
        yield FieldError.invalid(path, name, detail)


def finalizer_name(path: str, name: str) -> Iterator[FieldError]:
    """Yield the errors of a finalizer in a spec."""
    yield from _qualified(path, name)
    yield from _standard_finalizer(path, name)


def template_metadata(path: str, metadata: Document) -> Iterator[FieldError]:
    """Yield the errors of the labels and annotations of a claim template."""
    yield from annotation_map(f"{path}.annotations", metadata.get("annotations"))
    yield from labels(f"{path}.labels", metadata.get("labels"))
    for name, value in metadata.items():
        if name not in ("labels", "annotations") and (value or name == "deletionGracePeriodSeconds"):
            yield FieldError.forbidden(f"{path}.{'uID' if name == 'uid' else name}", "cannot be set")


def finalizer_warnings(document: Document, old: Document | None) -> Iterator[str]:
    """Yield the warnings about finalizers added to a custom resource."""
    before = elements((old or {}).get("metadata") or {}, "finalizers")
    for name in sorted({*elements(document["metadata"], "finalizers")} - {*before}):
        for complaint in label_syntax.key_errors(name):
            yield f'metadata.finalizers: "{name}": {complaint}'
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            advice = f"prefer a domain-qualified finalizer name{path}"
            yield f'metadata.finalizers: "{name}": {advice} to avoid accidental conflicts with other finalizer writers'
