# SPDX-License-Identifier: Apache-2.0
"""Rules of pod volumes of every type (`validateVolumeSource`).

Sections `[volume …]` of `rules.txt` have the rules of each type; any type after the first is
forbidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, Final

from steersman.api import quantity
from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import (
    Check,
    at_most_bytes,
    byte_length,
    descending_path,
    dns1123_subdomain,
    name_label,
    qualified_name,
    range_error,
    required,
    with_format,
)
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.resources import amount, shown_amount
from steersman.api.validation.rule_table import Rules, sections

FORBIDDEN_NAMES: Final = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Names in paths of errors about a second type, where upstream misspells them."""
CHECKED_NAMES: Final = {"gcePersistentDisk": "persistentDisk"}
"""Names in paths of other errors, if they are not those of the fields."""
MORE_THAN_ONE: Final = "may not specify more than 1 volume type"
_PAIRS: Final = "must be a host:port pair or multiple pairs separated by commas"
_CONFLICT: Final = "conflicting duplicate paths"
_ISCSI_FORMATS: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)"),
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}"),
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}"),
}
_SUBSCRIPTED: Final = re.compile(r"(.*)\['(.*)'\]")
_SIZES: Final = ("1", *(f"1{unit}" for unit in ("k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")))
_DIVISORS: Final = {
    "cpu": (("1m", "1"), "values 1m and 1 are supported with the cpu resource"),
    "memory": (_SIZES, f"values {', '.join(_SIZES)} are supported with the memory resource"),
    "ephemeral-storage": (
        _SIZES,
        f"values {', '.join(_SIZES)} are supported with the local ephemeral storage resource",
    ),
    "hugepages-": (_SIZES, f"values {', '.join(_SIZES)} are supported with the hugepages resource"),
}
_RESOURCE_FIELDS: Final = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_VOLUME_FIELD_PATHS: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_DOWNWARD_PATHS: Final = frozenset(
    {
        *_VOLUME_FIELD_PATHS,
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.serviceAccountName",
        "spec.schedulerName",
        "status.phase",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    }
)


def volumes(
    path: str, spec: Document, pod: Document | None, claim_spec: Check
) -> tuple[dict[str, Document], list[FieldError]]:
    """Return the valid volumes by name, and the errors of invalid ones.

    `pod` is the metadata of the pod, None in a template; `claim_spec` checks ephemeral claims.
    """
    pod_name = (pod or {}).get("name") or ""
    created = {
        f"{pod_name}-{volume.get('name')}"
        for volume in elements(spec, "volumes")
        if volume.get("ephemeral") is not None
    }
    valid: dict[str, Document] = {}
    errors: list[FieldError] = []
    for index, volume in enumerate(elements(spec, "volumes")):
        place, name = f"{path}[{index}]", volume.get("name") or ""
        found = [*_source(place, volume, pod_name, claim_spec), *required(name_label)(f"{place}.name", name)]
        if pod is not None and _type_name(volume) == "image" and not volume["image"].get("reference"):
            found.insert(0, FieldError.required(f"{place}.image.reference"))
        if name in valid:
            found.append(FieldError.duplicate(f"{place}.name", name))
        if not found:
            valid[name] = volume
        errors += found
        claim = part(volume, "persistentVolumeClaim").get("claimName")
        if pod_name and claim in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(FieldError.invalid(f"{place}.persistentVolumeClaim.claimName", claim, detail))
    return valid, errors


def source(name: str) -> Check:
    """Return the check of a volume of a type."""
    return partial(_rules, f"volume {name}")


@cache
def volume_types(prefix: str = "volume ") -> tuple[str, ...]:
    """Return the types of volumes in upstream's order, that of the sections `[volume …]`."""
    return tuple(name.removeprefix(prefix) for name in sections() if name.startswith(prefix))


def _type_name(volume: Document) -> str:
    """Return the (first) type of a volume."""
    return next((name for name in volume_types() if volume.get(name) is not None), "")


def _source(path: str, volume: Document, pod_name: str, claim_spec: Check) -> Iterator[FieldError]:
    found = 0
    for name in volume_types():
        source = volume.get(name)
        if source is None:
            continue
        found += 1
        if found > 1:
            yield FieldError.forbidden(f"{path}.{FORBIDDEN_NAMES.get(name, name)}", MORE_THAN_ONE)
        else:
            yield from _rules(f"volume {name}", f"{path}.{CHECKED_NAMES.get(name, name)}", source)
        if name == "iscsi":
            yield from _iscsi_volume_name(path, volume.get("name") or "", source)
        if name == "ephemeral" and found == 1:
            template = source.get("volumeClaimTemplate")
            if template is not None:
                yield from claim_spec(f"{path}.ephemeral.volumeClaimTemplate.spec", part(template, "spec"))
            yield from _ephemeral_name(path, volume.get("name") or "", pod_name)
    if not found:
        yield FieldError.required(path, "must specify a volume type")


def _iscsi_volume_name(path: str, name: str, source: Document) -> Iterator[FieldError]:
    if source.get("initiatorName") is not None and byte_length(f"{name}:{source.get('targetPortal') or ''}") > 64:
        detail = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified."
        )
        yield FieldError.invalid(f"{path}.name", name, detail)


def _ephemeral_name(path: str, name: str, pod_name: str) -> Iterator[FieldError]:
    claim = f"{pod_name}-{name}"
    for complaint in dns1123_subdomain(claim) if pod_name and name else ():
        yield FieldError.invalid(f"{path}.name", name, f'PVC name "{claim}": {complaint}')


# -- types with rules between fields ---------------------------------------------------------------


def file_mode(path: str, value: int) -> Iterator[FieldError]:
    if not 0 <= value <= 0o777:
        yield FieldError.invalid(path, value, "must be a number between 0 and 0777 (octal), both inclusive")


def local_path(path: str, value: Any) -> Iterator[FieldError]:
    """Yield the errors of a relative path that must not start with the reserved `..`."""
    yield from descending_path(path, value)
    if str(value).startswith("..") and not str(value).startswith("../"):
        yield FieldError.invalid(path, value, "must not start with '..'")


def _size_limit(path: str, limit: Any) -> Iterator[FieldError]:
    if quantity.sign(amount(limit)) < 0:
        yield FieldError.forbidden(path, "SizeLimit field must be a valid resource quantity")


def _partition(path: str, value: int) -> Iterator[FieldError]:
    if not 0 <= value <= 255:
        yield FieldError.invalid(path, value, range_error(1, 255))


def _absolute(path: str, value: str) -> Iterator[FieldError]:
    if not value.startswith("/"):
        yield FieldError.invalid(path, value, "must be an absolute path")


def iscsi_name(
    path: str, value: Any, detail: str = "must be valid format starting with iqn, eui, or naa"
) -> Iterator[FieldError]:
    pattern = _ISCSI_FORMATS.get(str(value)[:3])
    if pattern is None:
        yield FieldError.invalid(path, value, detail)
    elif not pattern.fullmatch(str(value)):
        yield FieldError.invalid(path, value, "must be valid format")


def _registry(path: str, source: Document) -> Iterator[FieldError]:
    registry = str(source.get("registry") or "")
    if not registry:
        yield FieldError.required(f"{path}.registry", _PAIRS)
    elif byte_length(source.get("tenant") or "") >= 65:
        yield FieldError.required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"(\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*", pair):
                yield FieldError.invalid(f"{path}.registry", registry, _PAIRS)


def _one_dataset(path: str, source: Document) -> Iterator[FieldError]:
    name = source.get("datasetName") or ""
    if name and source.get("datasetUUID"):
        yield FieldError.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield FieldError.invalid(f"{path}.datasetName", name, "must not contain '/'")


def _disk_uri(path: str, source: Document) -> Iterator[FieldError]:
    kind, uri = source.get("kind"), str(source.get("diskURI") or "")
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        known = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
        yield FieldError.not_supported(f"{path}.diskURI", uri, (known,))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        known = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
        yield FieldError.not_supported(f"{path}.diskURI", uri, (known,))


def _flex_options(path: str, options: Document) -> Iterator[FieldError]:
    for key in options:
        if f".{key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            yield FieldError.invalid(f"{path}[{key}]", key, detail)


def csi_driver_name(path: str, name: Any) -> Iterator[FieldError]:
    yield from at_most_bytes(63)(path, name)
    for complaint in dns1123_subdomain(str(name).lower()):
        yield FieldError.invalid(path, name, complaint)


def _claim_template(path: str, template: Document) -> Iterator[FieldError]:
    """Yield the errors of the metadata of a claim template; `volumes` checks the spec."""
    yield from _rules("claim_template", path, template)
    for name, value in part(template, "metadata").items():
        if name not in ("annotations", "labels") and value:
            yield FieldError.forbidden(f"{path}.metadata.{name}", "cannot be set")


# -- files about the pod ---------------------------------------------------------------------------


def field_reference(path: str, reference: Document, supported: tuple[str, ...]) -> Iterator[FieldError]:
    """Yield the errors of a `fieldRef`, which may be subscripted (`metadata.labels['app']`)."""
    version, field = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    field = "spec.nodeName" if field == "spec.host" else field
    if not version:
        yield FieldError.required(f"{path}.apiVersion")
        return
    if not field:
        yield FieldError.required(f"{path}.fieldPath")
        return
    subscripted = _SUBSCRIPTED.fullmatch(field)
    if problem := _field_path_problem(version, field, subscripted):
        yield FieldError.invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {problem}")
    elif subscripted:
        key = subscripted[2].lower() if subscripted[1] == "metadata.annotations" else subscripted[2]
        yield from with_format(qualified_name)(path, key)
    elif field not in supported:
        yield FieldError.not_supported(f"{path}.fieldPath", field, supported)


def _field_path_problem(version: str, field: str, subscripted: re.Match[str] | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted:
        is_map = subscripted[1] in ("metadata.annotations", "metadata.labels")
        return "" if is_map else f"field label does not support subscript: {field}"
    return "" if field in _DOWNWARD_PATHS else f"field label not supported: {field}"


def resource_reference(path: str, reference: Document, *, in_volume: bool) -> Iterator[FieldError]:
    """Yield the errors of a `resourceFieldRef`."""
    resource = reference.get("resource") or ""
    if in_volume and not reference.get("containerName"):
        yield FieldError.required(f"{path}.containerName")
    elif not resource:
        yield FieldError.required(f"{path}.resource")
    elif resource not in _RESOURCE_FIELDS and not resource.startswith(("requests.hugepages-", "limits.hugepages-")):
        yield FieldError.not_supported(f"{path}.resource", resource, _RESOURCE_FIELDS)
    divisor = reference.get("divisor")
    if divisor is None or not quantity.sign(amount(divisor)):
        return
    for name, (supported, detail) in _DIVISORS.items():
        measured = resource.removeprefix("limits.").removeprefix("requests.")
        if (measured == name or (name == "hugepages-" and measured.startswith(name))) and shown_amount(
            divisor
        ) not in supported:
            yield FieldError.invalid(f"{path}.divisor", resource, f"only divisor's {detail}")


def _downward_source(path: str, file: Document) -> Iterator[FieldError]:
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if field is not None:
        yield from field_reference(f"{path}.fieldRef", field, _VOLUME_FIELD_PATHS)
        if resource is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield FieldError.invalid(path, "resource", detail)
    elif resource is not None:
        yield from resource_reference(f"{path}.resourceFieldRef", resource, in_volume=True)
    else:
        yield FieldError.required(path, "one of fieldRef and resourceFieldRef is required")


def _projected(path: str, source: Document) -> Iterator[FieldError]:
    paths: set[str] = set()
    for index, projection in enumerate(elements(source, "sources")):
        place = f"{path}.sources[{index}]"
        present = [name for name in _PROJECTIONS if projection.get(name) is not None]
        for name in present:
            for found, used, error in _PROJECTIONS[name](f"{place}.{name}", projection[name], path):
                if error is not None:
                    yield error
                elif found and found in paths:
                    yield FieldError.invalid(path, used, _CONFLICT)
                else:
                    paths.add(found)
        if len(present) > 1:
            yield FieldError.forbidden(place, "may not specify more than 1 volume type per source")


_Projection = Iterator[tuple[str, str, FieldError | None]]
"""Generator of errors, and of file paths with the value to show if the path is a duplicate."""


def _failed(errors: Iterator[FieldError]) -> _Projection:
    return (("", "", error) for error in errors)


def _projected_keys(path: str, source: Document, _: str) -> _Projection:
    yield from _failed(required()(f"{path}.name", source.get("name")))
    for index, item in enumerate(elements(source, "items")):
        yield from _failed(_rules("key_to_path", f"{path}.items[{index}]", item))
        if item.get("path"):
            yield item["path"], source.get("name") or "", None


def _projected_downward(path: str, source: Document, _: str) -> _Projection:
    for file in elements(source, "items"):
        yield from _failed(_rules("downward_file", path, file))
        if file.get("path"):
            yield file["path"], file["path"], None


def _projected_token(path: str, source: Document, volume_path: str) -> _Projection:
    yield from _failed(_rules("projected_token", path, source))
    yield from _failed(required(local_path)(f"{volume_path}.path", source.get("path")))


_PROJECTIONS: Final = {
    "secret": _projected_keys,
    "configMap": _projected_keys,
    "downwardAPI": _projected_downward,
    "serviceAccountToken": _projected_token,
}
"""Projected sources; feature gates for `clusterTrustBundle` and `podCertificate` are off."""


_rules: Final = Rules(globals())
