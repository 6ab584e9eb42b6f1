# SPDX-License-Identifier: Apache-2.0
"""Rules of PersistentVolumes and PersistentVolumeClaims (`core/validation`)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api import quantity
from steersman.api.json_values import Document, elements, is_same, part
from steersman.api.validation import checks
from steersman.api.validation.checks import (
    Fields,
    between,
    check_fields,
    immutable,
    label_selector,
    name_label,
    name_subdomain,
    one_of,
    optional,
    path_without_backsteps,
    required,
)
from steersman.api.validation.field_errors import FieldError, go_struct, json_diff
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.node_selectors import node_selector
from steersman.api.validation.resources import amount, positive_quantity, resource_quantity, shown_amount
from steersman.api.validation.semantic_equality import is_equal
from steersman.api.validation.volumes import MORE_THAN_ONE, VOLUME_TYPES, VolumeType, csi_driver_name, iscsi_name
from steersman.api.wellknown import BETA_REGION_LABEL, BETA_ZONE_LABEL, REGION_LABEL, ZONE_LABEL

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_RECLAIM_POLICIES: Final = ("Delete", "Recycle", "Retain")
_VOLUME_MODE: Final = one_of("Block", "Filesystem")
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_SECRET: Final = {"name": required(name_subdomain), "namespace": required(name_label)}
_NAMED_SECRET: Final = {"secretRef.name": required(), "secretRef.namespace": required()}
_BETA_TOPOLOGY: Final = {
    BETA_ZONE_LABEL: ZONE_LABEL,
    BETA_REGION_LABEL: REGION_LABEL,
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
"""Deprecated node labels that an update may replace by their stable names in node affinity."""


# -- sources of volumes ----------------------------------------------------------------------------


def _iscsi(path: str, source: Document) -> Iterator[FieldError]:
    fields: Fields = {"targetPortal": required(), "iqn": required(_initiator), "lun": between(0, 255)}
    yield from check_fields(source, fields, path)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        yield FieldError.required(f"{path}.secretRef")
    yield from check_fields(source, {"secretRef.name": required(), "initiatorName": _initiator}, path)


def _initiator(path: str, value: Any) -> Iterator[FieldError]:
    yield from iscsi_name(path.replace("initiatorName", "initiatorname"), value, "must be valid format")


def _csi(path: str, source: Document) -> Iterator[FieldError]:
    yield from required(csi_driver_name)(f"{path}.driver", source.get("driver"))
    yield from required()(f"{path}.volumeHandle", source.get("volumeHandle"))
    for use in ("controllerPublish", "controllerExpand", "nodePublish", "nodeExpand"):
        if source.get(f"{use}SecretRef") is not None:
            yield from check_fields(source[f"{use}SecretRef"], _SECRET, f"{path}.{use}SecretRef")


_SOURCES: Final[Mapping[str, VolumeType]] = {
    **{
        name: VOLUME_TYPES[name]
        for name in (
            *("hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte"),
            *("cephfs", "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk"),
            *("portworxVolume", "azureDisk", "scaleIO"),
        )
    },
    "iscsi": VolumeType(_iscsi),
    "cinder": VolumeType({"volumeID": required(), **_NAMED_SECRET}),
    "local": VolumeType({"path": required(path_without_backsteps)}),
    "storageos": VolumeType(
        {"volumeName": required(name_label), "volumeNamespace": optional(name_label), **_NAMED_SECRET}
    ),
    "csi": VolumeType(_csi),
}
"""Volume sources of PersistentVolumes in the order of upstream's checks."""


# -- volumes ---------------------------------------------------------------------------------------


def _persistent_volume(document: Document) -> Iterator[FieldError]:
    yield from persistent_volume_spec("spec", part(document, "spec"))


def persistent_volume_spec(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield the errors of the spec of a PersistentVolume."""
    if not spec.get("accessModes"):
        yield FieldError.required(f"{path}.accessModes")
    yield from access_modes(f"{path}.accessModes", elements(spec, "accessModes"))
    yield from _capacity(f"{path}.capacity", spec.get("capacity"))
    yield from optional(one_of(*_RECLAIM_POLICIES))(
        f"{path}.persistentVolumeReclaimPolicy", spec.get("persistentVolumeReclaimPolicy")
    )
    affinity = spec.get("nodeAffinity")
    if affinity is not None and affinity.get("required") is not None:
        yield from node_selector(f"{path}.nodeAffinity.required", affinity["required"])
    elif affinity is not None:
        yield FieldError.required(f"{path}.nodeAffinity.required", "must specify required node constraints")
    yield from _sources(path, spec)
    is_root = posixpath.normpath(str(part(spec, "hostPath").get("path"))) == "/"
    if is_root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        yield FieldError.forbidden(f"{path}.persistentVolumeReclaimPolicy", detail)
    yield from optional(name_subdomain)(f"{path}.storageClassName", spec.get("storageClassName"))
    if spec.get("volumeMode") is not None:
        yield from _VOLUME_MODE(f"{path}.volumeMode", spec["volumeMode"])
    if spec.get("volumeAttributesClassName") is not None:
        name = required(name_subdomain, "an empty string is disallowed")
        yield from name(f"{path}.volumeAttributesClassName", spec["volumeAttributesClassName"])
        if spec.get("csi") is None:
            yield FieldError.required(f"{path}.csi", "has to be specified when using volumeAttributesClassName")


def access_modes(path: str, modes: list[Any]) -> Iterator[FieldError]:
    """Yield the errors of the access modes of a volume or claim."""
    for mode in modes:
        yield from one_of(*_ACCESS_MODES)(path, mode)
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS_MODES[:3] for mode in modes):
        yield FieldError.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _capacity(path: str, capacity: Mapping[str, Any] | None) -> Iterator[FieldError]:
    if not capacity:
        yield FieldError.required(path)
    if capacity is None or capacity.keys() != {"storage"}:
        shown = None if capacity is None else {name: shown_amount(value) for name, value in sorted(capacity.items())}
        yield FieldError.not_supported(path, shown, ["storage"])
    for name, value in (capacity or {}).items():
        if quantity.value(amount(value)) < 0:
            detail = "must be a valid resource quantity"
            yield FieldError.invalid(f"{path}[{name}]", quantity.value(amount(value)), detail)
        yield from positive_quantity(f"{path}[{name}]", value)


def _sources(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    has_source = False
    for name, kind in _SOURCES.items():
        if spec.get(name) is None:
            continue
        if has_source and name != "flexVolume":
            yield FieldError.forbidden(f"{path}.{kind.forbidden_name or name}", MORE_THAN_ONE)
            continue
        has_source = True
        yield from kind.validate(f"{path}.{kind.checked_name or name}", spec[name])
        if name == "local" and spec.get("nodeAffinity") is None:
            yield FieldError.required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    if not has_source:
        yield FieldError.required(path, "must specify a volume type")


def _persistent_volume_update(document: Document, old: Document) -> Iterator[FieldError]:
    spec, before = part(document, "spec"), part(old, "spec")
    yield from _persistent_volume(document)
    if any(_is_other_source(_source(spec, before, name), _source(before, before, name)) for name in _SOURCES):
        changes = json_diff({name: before.get(name) for name in _SOURCES}, {name: spec.get(name) for name in _SOURCES})
        detail = f"spec.persistentvolumesource is immutable after creation\n{changes}"
        yield FieldError.forbidden("spec.persistentvolumesource", detail)
    yield from immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    affinity = spec.get("nodeAffinity")
    if before.get("nodeAffinity") is not None and not _is_same_affinity(affinity, before["nodeAffinity"]):
        detail = "field is immutable, except for updating from beta label to GA"
        yield FieldError.invalid("nodeAffinity", _shown_affinity(affinity), detail)
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        yield FieldError.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")


def _is_other_source(new: Any, old: Any) -> bool:
    return (new is None) != (old is None) or not is_equal(new, old)


def _source(spec: Mapping[str, Any], before: Mapping[str, Any], name: str) -> Any:
    """Return a volume source for comparison. CSI sources may gain a secret for expansion."""
    source = spec.get(name)
    if name != "csi" or source is None or "controllerExpandSecretRef" in part(before, "csi"):
        return source
    return {field: value for field, value in source.items() if field != "controllerExpandSecretRef"}


def _is_same_affinity(new: Any, old: Any) -> bool:
    if isinstance(new, dict) and isinstance(old, dict):
        if old.get("key") in _BETA_TOPOLOGY and new.get("key") == _BETA_TOPOLOGY[old["key"]]:
            old = {**old, "key": new["key"]}
        return new.keys() == old.keys() and all(_is_same_affinity(new[name], old[name]) for name in new)
    if isinstance(new, list) and isinstance(old, list):
        return len(new) == len(old) and all(map(_is_same_affinity, new, old))
    return is_same(new, old)


def _shown_affinity(affinity: Mapping[str, Any] | None) -> Any:
    if affinity is None:
        return None

    def shown(requirements: Any) -> Any:
        return requirements and [go_struct(one, Key="", Operator="", Values=None) for one in requirements]

    terms = [
        {"MatchExpressions": shown(term.get("matchExpressions")), "MatchFields": shown(term.get("matchFields"))}
        for term in elements(affinity, "required", "nodeSelectorTerms")
    ]
    return {"Required": {"NodeSelectorTerms": terms} if affinity.get("required") is not None else None}


# -- claims ----------------------------------------------------------------------------------------


def _claim(document: Document) -> Iterator[FieldError]:
    yield from claim_spec("spec", part(document, "spec"))


def claim_spec(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield the errors of the spec of a PersistentVolumeClaim or of a claim template."""
    if not spec.get("accessModes"):
        yield FieldError.required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from label_selector(f"{path}.selector", spec.get("selector"))
    yield from access_modes(f"{path}.accessModes", elements(spec, "accessModes"))
    storage = part(spec, "resources", "requests").get("storage")
    if storage is None:
        yield FieldError.required(f"{path}.resources[storage]")
    else:
        errors = list(positive_quantity(f"{path}.resources[storage]", storage))
        yield from errors or resource_quantity("storage", f"{path}.resources[storage]", storage)
    yield from optional(name_subdomain)(f"{path}.storageClassName", spec.get("storageClassName"))
    if spec.get("volumeMode") is not None:
        yield from _VOLUME_MODE(f"{path}.volumeMode", spec["volumeMode"])
    yield from _data_sources(path, spec)
    yield from optional(name_subdomain)(f"{path}.volumeAttributesClassName", spec.get("volumeAttributesClassName"))


def _data_sources(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for name, found in (("dataSource", source), ("dataSourceRef", reference)):
        if found is not None:
            yield from _data_source(f"{path}.{name}", found)
    if reference is None or source is None:
        return
    if reference.get("namespace"):
        yield FieldError.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield FieldError.invalid(path, {}, "must match dataSourceRef")


def _data_source(path: str, source: Mapping[str, Any]) -> Iterator[FieldError]:
    yield from check_fields(source, {"name": required(), "kind": required()}, path)
    if not source.get("apiGroup") and source.get("kind") != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield FieldError.invalid(path, source.get("kind") or "", detail)
    yield from optional(name_subdomain)(f"{path}.apiGroup", source.get("apiGroup"))
    yield from optional(name_label)(f"{path}.namespace", source.get("namespace"))


def _claim_update(document: Document, old: Document) -> Iterator[FieldError]:
    spec, before = dict(part(document, "spec")), dict(part(old, "spec"))
    class_before = part(old, "metadata", "annotations").get(_BETA_CLASS)
    class_now = part(document, "metadata", "annotations").get(_BETA_CLASS)
    if not before.get("volumeName"):
        before["volumeName"] = spec.get("volumeName")
    if before.get("storageClassName") is None and class_before in (None, spec.get("storageClassName")):
        before["storageClassName"] = spec.get("storageClassName")
    elif class_now != class_before:
        yield FieldError.invalid(f"metadata.annotations.{_BETA_CLASS}", class_now or "", checks.IMMUTABLE)
    if part(document, "status").get("phase") == "Bound":
        before["volumeAttributesClassName"] = spec.get("volumeAttributesClassName")
        before["resources"] = {**part(before, "resources"), "requests": part(spec, "resources", "requests")}
    names = ("storageClassName", "volumeAttributesClassName")
    if not is_equal(spec, before) or any(spec.get(name) != before.get(name) for name in names):
        detail = (
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        )
        yield FieldError.forbidden("spec", f"{detail}\n{json_diff(before, spec)}")
    yield from _shrunk(document, old)
    yield from immutable("volumeMode", spec.get("volumeMode"), part(old, "spec").get("volumeMode"))
    yield from _attributes_class_removed(document, old)


def _shrunk(document: Document, old: Document) -> Iterator[FieldError]:
    """Yield an error if the storage request is reduced to the capacity of the volume or less."""
    size, before = (amount(part(claim, "spec", "resources", "requests").get("storage", 0)) for claim in (document, old))
    held = amount(part(old, "status", "capacity").get("storage", 0))
    if quantity.compare(size, before) < 0 and quantity.compare(size, held) <= 0:
        detail = "field can not be less than status.capacity"
        yield FieldError.forbidden("spec.resources.requests.storage", detail)


def _attributes_class_removed(document: Document, old: Document) -> Iterator[FieldError]:
    name, before = (part(claim, "spec").get("volumeAttributesClassName") for claim in (document, old))
    if name != before and not name and part(old, "status").get("currentVolumeAttributesClassName") is not None:
        how = "nil" if name is None else "empty string"
        detail = f"update to {how} is forbidden when status.currentVolumeAttributesClassName is not nil"
        yield FieldError.forbidden("spec.volumeAttributesClassName", detail)


RULES: Final = {
    ("", "PersistentVolume"): KindRules(_persistent_volume, _persistent_volume_update),
    ("", "PersistentVolumeClaim"): KindRules(_claim, _claim_update),
}
