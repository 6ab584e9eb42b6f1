# SPDX-License-Identifier: Apache-2.0
"""Rules of the kinds in storage.k8s.io (`storage/validation`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import byte_length, immutable, label_key, qualified_name
from steersman.api.validation.field_errors import FieldError, go_struct
from steersman.api.validation.persistent_volumes import persistent_volume_spec
from steersman.api.validation.rule_table import Rules

_MAX_PARAMETERS: Final = 512
_MAX_PARAMETER_BYTES: Final = 256 * 1024
_MAX_NODE_ID: Final = 256
_GROUP: Final = "storage.k8s.io"


def _provisioner(path: str, value: Any) -> Iterator[FieldError]:
    if not value:
        yield FieldError.required(path)
        return
    for complaint in qualified_name(str(value).lower()):
        yield FieldError.invalid(path, str(value).lower(), complaint)


def _parameters(path: str, values: Mapping[str, Any]) -> Iterator[FieldError]:
    if len(values) > _MAX_PARAMETERS:
        yield FieldError.too_long(path, _MAX_PARAMETERS)
        return
    if "" in values:
        yield FieldError.invalid(path, "", "field can not be empty.")
    if sum(byte_length(name) + byte_length(str(value)) for name, value in values.items()) > _MAX_PARAMETER_BYTES:
        yield FieldError.too_long(path, _MAX_PARAMETER_BYTES)


def _allowed_topologies(path: str, terms: list[Any]) -> Iterator[FieldError]:
    seen: set[frozenset[tuple[str, frozenset[Any]]]] = set()
    for index, term in enumerate(terms):
        found: dict[str, frozenset[Any]] = {}
        for position, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            where = f"{path}[{index}].matchLabelExpressions[{position}]"
            yield from _rules("topology_requirement", where, requirement)
            key = str(requirement.get("key") or "")
            if key in found:
                yield FieldError.duplicate(f"{where}.key", key)
            found[key] = frozenset(requirement.get("values") or ())
        term_values = frozenset(found.items())
        if term_values in seen or not found:  # like upstream, treat an empty term as a duplicate
            yield FieldError.duplicate(f"{path}[{index}].matchLabelExpressions", "")
        seen.add(term_values)


def _token_secrets(path: str, spec: Mapping[str, Any]) -> Iterator[FieldError]:
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield FieldError.invalid(f"{path}.serviceAccountTokenInSecrets", in_secrets, detail)


def _token_requests(path: str, requests: list[Any]) -> Iterator[FieldError]:
    audiences: set[Any] = set()
    for index, request in enumerate(requests):
        audience = request.get("audience") or ""
        if audience in audiences:
            yield FieldError.duplicate(f"{path}[{index}].audience", audience)
            continue
        audiences.add(audience)
        yield from _rules("token_request", f"{path}[{index}]", request)


def _csi_driver_update(document: Document, old: Document) -> Iterator[FieldError]:
    spec, before = part(document, "spec"), part(old, "spec")
    yield from immutable("spec.attachedRequired", spec.get("attachRequired"), before.get("attachRequired"))
    modes = "volumeLifecycleModes"
    yield from immutable(f"spec.{modes}", spec.get(modes), before.get(modes))


def _node_id(path: str, value: str) -> Iterator[FieldError]:
    if byte_length(value) > _MAX_NODE_ID:
        yield FieldError.invalid(path, value, f"must be {_MAX_NODE_ID} characters or less")


def _csi_node(path: str, drivers: list[Any]) -> Iterator[FieldError]:
    names: set[Any] = set()
    for index, driver in enumerate(drivers):
        place, name = f"{path}[{index}]", driver.get("name")
        yield from _rules("csi_node_driver", place, driver)
        if name in names:
            yield FieldError.duplicate(f"{place}.name", name)
        names.add(name)
        yield from _topology_keys(place, elements(driver, "topologyKeys"))


def _topology_keys(path: str, keys: list[Any]) -> Iterator[FieldError]:
    seen: set[Any] = set()
    for key in keys:
        if not key:
            yield FieldError.required(path)
        if key in seen:
            yield FieldError.duplicate(path, key)
        seen.add(key)
        yield from label_key(path, key)


def _csi_node_update(document: Document, old: Document) -> Iterator[FieldError]:
    """Yield an error for each driver that changes in a field other than `allocatable`."""

    def shown(driver: Mapping[str, Any]) -> Any:
        found = go_struct(driver, Name="", NodeID="", TopologyKeys=None)
        return {**(found or {}), "Allocatable": None}

    for before in elements(old, "spec", "drivers"):
        for driver in elements(document, "spec", "drivers"):
            if driver.get("name") == before.get("name"):
                yield from immutable("spec.drivers", shown(driver), shown(before))


def _attached_source(path: str, source: Mapping[str, Any]) -> Iterator[FieldError]:
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    either = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and name is None:
        yield FieldError.required(path, either)
    elif inline is not None and name is not None:
        yield FieldError.forbidden(path, either)
    elif inline is not None:
        yield from persistent_volume_spec(f"{path}.inlineVolumeSpec", inline)
    elif not name:
        yield FieldError.required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName")


_rules: Final = Rules(globals())
RULES: Final = {
    **{
        (_GROUP, kind): _rules.kind(kind)
        for kind in ("CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass")
    },
    (_GROUP, "CSIDriver"): _rules.kind("CSIDriver", validate_update=_csi_driver_update),
    (_GROUP, "CSINode"): _rules.kind("CSINode", validate_update=_csi_node_update),
}
