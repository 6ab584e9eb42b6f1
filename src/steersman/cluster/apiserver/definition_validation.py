# SPDX-License-Identifier: Apache-2.0
"""Validation of CustomResourceDefinitions, as in apiextensions-apiserver; `definition_schemas`
validates schemas.

Upstream validates its internal form, which moves fields equal in all versions (schema,
subresources, columns, selectable fields) to the spec: errors name `spec.validation` if there is one
version.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from steersman.api import elements, is_same, part
from steersman.api.validation import (
    Check,
    FieldError,
    dns1035_label,
    dns1123_subdomain,
    go_struct,
    immutable,
    one_of,
    optional,
    required,
)
from steersman.cluster.apiserver.definition_schemas import schema_at, schema_errors
from steersman.cluster.apiserver.rule_costs import cost_problems
from steersman.cluster.store.documents import Document

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_MAX_SELECTABLE: Final = 8
_APPROVAL: Final = "api-approved.kubernetes.io"
_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double"), "string": frozenset({
    "bsonobjectid", "uri", "email", "hostname", "ipv4", "ipv6", "cidr", "mac", "uuid", "uuid3", "uuid4", "uuid5", "isbn",
    "isbn10", "isbn13", "creditcard", "ssn", "hexcolor", "rgbcolor", "byte", "password", "date", "duration", "datetime",
    "k8sshortname", "k8slongname",
})}  # fmt: skip
"""Validated formats by type, without hyphens."""
_SHARED: Final = {
    "schema": "validation",
    "subresources": "subresources",
    "additionalPrinterColumns": "additionalPrinterColumns",
    "selectableFields": "selectableFields",
}
"""Fields of versions → field of the spec that holds them if they are equal in all versions."""


def definition_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a definition that is new or replaces `old`, except of metadata."""
    spec = part(document, "spec")
    name = document["metadata"].get("name") or ""
    if old is None and name != f"{part(spec, 'names').get('plural') or ''}.{spec.get('group') or ''}":
        yield FieldError.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _spec(spec)
    if old is not None:
        yield from _changes(spec, part(old, "spec"), is_established=_is_established(old))
    yield from _stored_versions(spec, elements(old or {}, "status", "storedVersions"))
    yield from _approval(document, old)
    if spec.get("preserveUnknownFields") and not part(old or {}, "spec").get("preserveUnknownFields"):
        detail = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        )
        yield FieldError.invalid("spec.preserveUnknownFields", True, detail)


def _spec(spec: Document) -> Iterator[FieldError]:
    yield from _group("spec.group", spec.get("group") or "")
    yield from required(one_of("Cluster", "Namespaced"))("spec.scope", spec.get("scope"))
    versions = elements(spec, "versions")
    shared = {
        name for name in _SHARED if all(is_same(version.get(name), versions[0].get(name)) for version in versions)
    }
    for index, version in enumerate(versions):
        if part(version, "schema").get("openAPIV3Schema") is None:
            yield FieldError.required(f"spec.versions[{index}].schema.openAPIV3Schema")
    if spec.get("preserveUnknownFields") and any(map(_has_default, _schemas(versions))):
        detail = "must be false in order to use defaults in the schema"
        yield FieldError.invalid("spec.preserveUnknownFields", True, detail)
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}]", version.get("name") or ""
        yield from _joined(f"{path}.name", name, dns1035_label(name))
        yield from _deprecation(version, path)
        yield from _version_fields(version, {field: f"{path}.{field}" for field in _SHARED if field not in shared})
    yield from _version_names(versions, _shown_versions(spec.get("versions"), shared))
    yield from _names(part(spec, "names"), "spec.names")
    if versions:
        common = {**versions[0], "subresources": versions[0].get("subresources")}
        yield from _version_fields(common, {field: f"spec.{_SHARED[field]}" for field in _SHARED if field in shared})
    yield from _conversion(part(spec, "conversion"), "spec.conversion")


def _joined(path: str, value: str, complaints: list[str], prefix: str = "") -> Iterator[FieldError]:
    if complaints:
        yield FieldError.invalid(path, value, prefix + ",".join(complaints))


def _group(path: str, group: str) -> Iterator[FieldError]:
    if not group:
        yield FieldError.required(path)
    elif complaints := dns1123_subdomain(group):
        yield from _joined(path, group, complaints)
    elif "." not in group:
        yield FieldError.invalid(path, group, "should be a domain with at least one dot")


def _schemas(versions: list[Any]) -> Iterator[Any]:
    return (part(version, "schema").get("openAPIV3Schema") for version in versions)


def _has_default(schema: Any) -> bool:
    if isinstance(schema, list):
        return any(map(_has_default, schema))
    if not isinstance(schema, Mapping):
        return False
    return schema.get("default") is not None or any(map(_has_default, schema.values()))


def _deprecation(version: Document, path: str) -> Iterator[FieldError]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    rules = (
        (len(warning.encode()) <= 256, "must be <= 256 characters long"),
        (warning, "must not be an empty string"),
        (warning.isprintable(), "must only contain printable UTF-8 characters; non-printable character found at index"),
    )
    details = [detail for holds, detail in rules if not holds] if version.get("deprecated") else []
    for detail in details if version.get("deprecated") else ["can only be set for deprecated versions"]:
        if detail.endswith("index"):
            index = next(i for i, character in enumerate(warning) if not character.isprintable())
            detail = f"{detail} {len(warning[:index].encode())}"
        yield FieldError.invalid(f"{path}.deprecationWarning", warning, detail)


def _version_fields(version: Document, paths: Mapping[str, str]) -> Iterator[FieldError]:
    """Yield the errors of the version's fields that are in `paths`."""
    schema, subresources = part(version, "schema").get("openAPIV3Schema"), part(version, "subresources")
    if "schema" in paths and isinstance(schema, Mapping):
        has_status = subresources.get("status") is not None
        where = f"{paths['schema']}.openAPIV3Schema"
        errors = list(schema_errors(schema, where, has_status=has_status))
        yield from errors or (FieldError.forbidden(*problem) for problem in cost_problems(schema, where))
    if "subresources" in paths and subresources.get("scale") is not None:
        yield from _scale(part(subresources, "scale"), f"{paths['subresources']}.scale")
    if "additionalPrinterColumns" in paths:
        for index, column in enumerate(elements(version, "additionalPrinterColumns")):
            yield from _column(column, f"{paths['additionalPrinterColumns']}[{index}]")
    if "selectableFields" in paths and version.get("selectableFields"):
        where = paths["selectableFields"]
        if "schema" in paths and isinstance(schema, Mapping):
            yield from _selectable_fields(version["selectableFields"], schema, where)
        elif where.startswith("spec.versions"):
            detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
            yield FieldError.invalid(where, "", detail)
        else:
            yield FieldError.invalid(where, "", "may only be set when validations.schema is included")


def _shown_versions(versions: list[Any] | None, shared: Collection[str]) -> list[Any] | None:
    """Return the versions as Go prints them, without fields moved to the spec."""
    zeros = {"Name": "", "Served": False, "Storage": False, "Deprecated": False, "DeprecationWarning": None}
    zeros |= {name[0].upper() + name[1:]: None for name in _SHARED}
    own = [{name: value for name, value in version.items() if name not in shared} for version in versions or ()]
    return None if versions is None else [go_struct(version, **zeros) for version in own]


def _version_names(versions: list[Any], shown: list[Any] | None) -> Iterator[FieldError]:
    names = [version.get("name") for version in versions]
    if len(set(names)) < len(names):
        yield FieldError.invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        yield FieldError.invalid("spec.versions", shown, "must have exactly one version marked as storage version")
    if names and names[0]:
        yield from _joined("spec.version", names[0], dns1035_label(names[0]))


def _names(names: Document, path: str) -> Iterator[FieldError]:
    for name in ("plural", "singular", "kind", "listKind"):
        if not names.get(name):
            yield FieldError.required(f"{path}.{name}")
    for name in ("plural", "singular", "kind", "listKind"):
        value, is_mixed = names.get(name) or "", name.lower().endswith("kind")
        complaints = dns1035_label(value.lower() if is_mixed else value) if value else []
        prefix = "may have mixed case, but should otherwise match: " if is_mixed else ""
        yield from _joined(f"{path}.{name}", value, complaints, prefix)
    for index, name in enumerate(elements(names, "shortNames")):
        yield from _joined(f"{path}.shortNames[{index}]", name, dns1035_label(name))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        yield FieldError.invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same")
    for index, name in enumerate(elements(names, "categories")):
        yield from _joined(f"{path}.categories[{index}]", name, dns1035_label(name))


# -- what a version serves -------------------------------------------------------------------------


def _json_path(*prefixes: str) -> Check:
    def check(path: str, value: Any) -> Iterator[FieldError]:
        if not value.startswith("."):
            yield FieldError.invalid(path, value, "must be a simple json path starting with .")
        elif not value.startswith(tuple(f"{prefix}." for prefix in prefixes)):
            where = f"either {' or '.join(prefixes)}" if len(prefixes) > 1 else prefixes[0]
            yield FieldError.invalid(path, value, f"should be a json path under {where}")

    return check


def _scale(scale: Document, path: str) -> Iterator[FieldError]:
    yield from required(_json_path(".spec"))(f"{path}.specReplicasPath", scale.get("specReplicasPath"))
    yield from required(_json_path(".status"))(f"{path}.statusReplicasPath", scale.get("statusReplicasPath"))
    selector = optional(_json_path(".spec", ".status"))
    yield from selector(f"{path}.labelSelectorPath", scale.get("labelSelectorPath"))


def _column(column: Document, path: str) -> Iterator[FieldError]:
    kind, types = column.get("type"), f"must be one of {','.join(_COLUMN_TYPES)}"
    yield from required()(f"{path}.name", column.get("name"))
    if not kind:
        yield FieldError.required(f"{path}.type", types)
    elif kind not in _COLUMN_TYPES:
        yield FieldError.invalid(f"{path}.type", kind, types)
    if column.get("format") and column["format"] not in _COLUMN_FORMATS:
        yield FieldError.invalid(f"{path}.format", column["format"], f"must be one of {','.join(_COLUMN_FORMATS)}")
    found = column.get("jsonPath")
    if not found:
        yield FieldError.required(f"{path}.JSONPath")
    elif not found.startswith("."):
        yield FieldError.invalid(f"{path}.JSONPath", found, "must be a simple json path starting with .")


def _selectable_fields(fields: list[Any], schema: Mapping[str, Any], path: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, field in enumerate(fields):
        where, text = f"{path}[{index}].jsonPath", field.get("jsonPath") or ""
        if not text:
            yield FieldError.required(where)
            continue
        found = schema_at(schema, text, allows_brackets=False)
        if isinstance(found, str):
            yield FieldError.invalid(where, text, f"is an invalid path: {found}")
            continue
        if text.split(".")[1] == "metadata":
            yield FieldError.invalid(where, text, "must not point to fields in metadata")
        if found.get("type") not in ("string", "boolean", "integer"):
            allowed = "Enum string fields and strings with formats are allowed."
            detail = f"must point to a field of type string, boolean or integer. {allowed}"
            yield FieldError.invalid(where, text, detail)
        if text in seen:
            yield FieldError.duplicate(where, text)
        seen.add(text)
    if len(seen) > _MAX_SELECTABLE:
        yield FieldError.too_many(path, len(seen), _MAX_SELECTABLE)


# -- conversion, stored versions, approval ---------------------------------------------------------


def _conversion(conversion: Document, path: str) -> Iterator[FieldError]:
    strategy, webhook = conversion.get("strategy"), part(conversion, "webhook")
    config, versions = webhook.get("clientConfig"), elements(webhook, "conversionReviewVersions")
    yield from required(one_of("None", "Webhook"))(f"{path}.strategy", strategy)
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        for name, value in (("webhookClientConfig", config), ("conversionReviewVersions", versions)):
            if value:
                yield FieldError.forbidden(f"{path}.{name}", detail)
        return
    if config is None:
        yield FieldError.required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
    elif (config.get("url") is None) == (config.get("service") is None):
        yield FieldError.required(f"{path}.webhookClientConfig", "exactly one of url or service is required")
    elif config.get("url") is not None:
        yield from _webhook_url(f"{path}.webhookClientConfig.url", config["url"])
    else:
        yield from _webhook_service(f"{path}.webhookClientConfig.service", config["service"])
    yield from _review_versions(f"{path}.conversionReviewVersions", versions)


def _webhook_url(path: str, text: str) -> Iterator[FieldError]:
    form = "; desired format: https://host[/path]"
    try:
        url = urlsplit(text)
    except ValueError as error:
        yield FieldError.required(path, f"url must be a valid URL: {error}{form}")
        return
    user, _, host = url.netloc.rpartition("@")
    rules = (
        (url.scheme == "https", url.scheme, f"'https' is the only allowed URL scheme{form}"),
        (host, host, f"host must be specified{form}"),
        (not user, user, "user information is not permitted in the URL"),
        (not url.fragment, url.fragment, "fragments are not permitted in the URL"),
        (not url.query, url.query, "query parameters are not permitted in the URL"),
    )
    yield from (FieldError.invalid(path, value, detail) for holds, value, detail in rules if not holds)


def _webhook_service(path: str, service: Document) -> Iterator[FieldError]:
    for name, reported in (("namespace", "name"), ("name", "namespace")):  # upstream swaps the two
        yield from required()(f"{path}.{reported}", service.get(name))
    place, port = service.get("path"), service.get("port")
    if port is not None and not 1 <= port <= 65535:
        detail = "port is not valid: must be between 1 and 65535, inclusive"
        yield FieldError.invalid(f"{path}.port", port, detail)
    if place and not place.startswith("/"):
        yield FieldError.invalid(f"{path}.path", place, "must start with a '/'")
    if place and place != "/":
        steps = place[1:].removesuffix("/").split("/")
        for index, step in enumerate(steps):
            if not step:
                yield FieldError.invalid(f"{path}.path", place, f"segment[{index}] may not be empty")
            for complaint in dns1123_subdomain(step) if step else ():
                yield FieldError.invalid(f"{path}.path", place, f"segment[{index}]: {complaint}")


def _review_versions(path: str, versions: list[Any]) -> Iterator[FieldError]:
    seen: set[Any] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield FieldError.invalid(f"{path}[{index}]", version, "duplicate version")
        else:
            yield from (FieldError.invalid(f"{path}[{index}]", version, why) for why in dns1035_label(version))
        seen.add(version)
    if not versions:
        yield FieldError.required(path)
    elif not seen & {*_REVIEW_VERSIONS}:
        yield FieldError.invalid(path, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}")


def _stored_versions(spec: Document, before: list[Any]) -> Iterator[FieldError]:
    path, versions = "status.storedVersions", elements(spec, "versions")
    storage = next((version.get("name") for version in versions if version.get("storage")), None)
    stored = list(dict.fromkeys((*before, *(() if storage is None else (storage,)))))
    if not stored:
        yield FieldError.invalid(path, None, "must have at least one stored version")
    known = {version.get("name") for version in versions}
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            yield FieldError.invalid(path, stored, f"must have the storage version {version.get('name')}")
    for index, name in enumerate(stored):
        if name not in known:
            detail = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until "
                f"a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            )
            yield FieldError.invalid(f"{path}[{index}]", name, detail)


def _approval(document: Document, old: Document | None) -> Iterator[FieldError]:
    group = part(document, "spec").get("group") or ""
    if not f".{group}".endswith((".k8s.io", ".kubernetes.io")):
        return
    path, text = f"metadata.annotations[{_APPROVAL}]", part(document, "metadata", "annotations").get(_APPROVAL) or ""
    if old is not None and _approval_state(text) == _approval_state(
        part(old, "metadata", "annotations").get(_APPROVAL) or ""
    ):
        return
    rule = f'protected groups must have approval annotation "{_APPROVAL}"'
    more = "see https://github.com/kubernetes/enhancements/pull/1111"
    if _approval_state(text) == "missing":
        yield FieldError.required(path, f"{rule}, {more}")
    elif _approval_state(text) == "invalid":
        yield FieldError.invalid(path, text, f'{rule} with either a URL or a reason starting with "unapproved", {more}')


def _approval_state(text: str) -> str:
    if not text:
        return "missing"
    if text.startswith("unapproved"):
        return "bypassed"
    return "approved" if re.match("[a-zA-Z][-+.a-zA-Z0-9]*://[^/?#]", text) else "invalid"


def unrecognized_formats(document: Document) -> Iterator[str]:
    """Yield the schema formats of a definition that are not validated."""
    schemas = list(_schemas(elements(document, "spec", "versions")))
    while schemas:
        schema = schemas.pop()
        if isinstance(schema, list):
            schemas += schema
        elif isinstance(schema, Mapping):
            found, kind = schema.get("format"), schema.get("type") or "string"
            if isinstance(found, str) and found and found.replace("-", "") not in _FORMATS.get(str(kind), ()):
                yield found
            schemas += (value for name, value in schema.items() if name not in ("default", "example", "enum"))


def _is_established(document: Document) -> bool:
    conditions = elements(document, "status", "conditions")
    return any(found.get("type") == "Established" and found.get("status") == "True" for found in conditions)


def _changes(spec: Document, before: Document, *, is_established: bool) -> Iterator[FieldError]:
    names, old_names = part(spec, "names"), part(before, "names")
    if is_established:
        yield from immutable("spec.scope", spec.get("scope"), before.get("scope"))
        yield from immutable("spec.names.kind", names.get("kind"), old_names.get("kind"))
    yield from immutable("spec.group", spec.get("group"), before.get("group"))
    yield from immutable("spec.names.plural", names.get("plural"), old_names.get("plural"))
