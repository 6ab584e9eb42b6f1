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
    immutable,
    one_of,
)
from steersman.api.validation.field_errors import FieldError, go_struct, json_diff
from steersman.api.validation.resources import amount, positive_quantity, resource_quantity, shown_amount
from steersman.api.validation.rule_table import Rules
from steersman.api.validation.semantic_equality import is_equal
from steersman.api.validation.volumes import CHECKED_NAMES, FORBIDDEN_NAMES, MORE_THAN_ONE, iscsi_name, volume_types
from steersman.api.wellknown import BETA_REGION_LABEL, BETA_ZONE_LABEL, REGION_LABEL, ZONE_LABEL

_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_BETA_TOPOLOGY: Final = {
    BETA_ZONE_LABEL: ZONE_LABEL,
    BETA_REGION_LABEL: REGION_LABEL,
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
"""Deprecated node labels that an update may replace by their stable names in node affinity."""


# -- sources of volumes ----------------------------------------------------------------------------


def _initiator(path: str, value: Any) -> Iterator[FieldError]:
    yield from iscsi_name(path, value, "must be valid format")


# -- volumes ---------------------------------------------------------------------------------------


def persistent_volume_spec(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield the errors of the spec of a PersistentVolume."""
    yield from _rules("persistent_volume", path, spec)
    yield from _sources(path, spec)
    is_root = posixpath.normpath(str(part(spec, "hostPath").get("path"))) == "/"
    if is_root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        yield FieldError.forbidden(f"{path}.persistentVolumeReclaimPolicy", detail)
    yield from _rules("persistent_volume_classes", path, spec)


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


def _source_names() -> tuple[str, ...]:
    """Return the volume sources of PersistentVolumes, in the order of upstream's checks."""
    return volume_types("persistent volume ")


def _sources(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    has_source = False
    for name in _source_names():
        if spec.get(name) is None:
            continue
        if has_source and name != "flexVolume":
            yield FieldError.forbidden(f"{path}.{FORBIDDEN_NAMES.get(name, name)}", MORE_THAN_ONE)
            continue
        has_source = True
        yield from _rules(f"persistent volume {name}", f"{path}.{CHECKED_NAMES.get(name, name)}", spec[name])
        if name == "local" and spec.get("nodeAffinity") is None:
            yield FieldError.required(f"{path}.nodeAffinity", "Local volume requires node affinity")
    if not has_source:
        yield FieldError.required(path, "must specify a volume type")


def _persistent_volume_update(document: Document, old: Document) -> Iterator[FieldError]:
    spec, before = part(document, "spec"), part(old, "spec")
    yield from _rules("PersistentVolume", "", document)
    if any(_is_other_source(_source(spec, before, name), _source(before, before, name)) for name in _source_names()):
        changes = json_diff(
            {name: before.get(name) for name in _source_names()}, {name: spec.get(name) for name in _source_names()}
        )
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


def claim_spec(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    """Yield the errors of the spec of a PersistentVolumeClaim or of a claim template."""
    yield from _rules("volume_claim", path, spec)


def _requested_storage(path: str, claim: Mapping[str, Any]) -> Iterator[FieldError]:
    storage = part(claim, "resources", "requests").get("storage")
    if storage is None:
        yield FieldError.required(f"{path}.resources[storage]")
    else:
        errors = list(positive_quantity(f"{path}.resources[storage]", storage))
        yield from errors or resource_quantity("storage", f"{path}.resources[storage]", storage)


def _data_sources(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for name, found in (("dataSource", source), ("dataSourceRef", reference)):
        if found is not None:
            yield from _rules("data_source", f"{path}.{name}", found)
    if reference is None or source is None:
        return
    if reference.get("namespace"):
        yield FieldError.invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield FieldError.invalid(path, {}, "must match dataSourceRef")


def _default_group_source(path: str, source: Mapping[str, Any]) -> Iterator[FieldError]:
    detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
    yield FieldError.invalid(path, source.get("kind") or "", detail)


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


_rules: Final = Rules(globals())
RULES: Final = {
    ("", "PersistentVolume"): _rules.kind("PersistentVolume", validate_update=_persistent_volume_update),
    ("", "PersistentVolumeClaim"): _rules.kind("PersistentVolumeClaim", validate_update=_claim_update),
}
