# SPDX-License-Identifier: Apache-2.0
"""Checks of an object before storage: unknown fields, defaults, rules of the kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from steersman import api
from steersman.api import (
    OBJECT_META,
    REFERENCE,
    FieldSchema,
    FieldValidation,
    as_go_writes,
    codec,
    elements,
    group_kind,
    is_same,
    part,
    schema_of,
    unhandled,
)
from steersman.api.cel import find_selector_errors
from steersman.api.defaults import with_default_fields
from steersman.api.validation import (
    FieldError,
    find_warnings,
    validate,
    validate_metadata,
    validate_status,
    validate_update,
    with_metadata_errors,
)
from steersman.cluster.apiserver.admission_webhooks import is_called
from steersman.cluster.apiserver.custom_resources import CustomResources, with_definition_defaults
from steersman.cluster.apiserver.definition_validation import definition_errors, unrecognized_formats
from steersman.cluster.apiserver.invalid_objects import check_types, decoded, refuse
from steersman.cluster.apiserver.prepared_fields import prepared
from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.apiserver.schema_validation import NOWHERE
from steersman.cluster.apiserver.structural_schemas import (
    custom_resource_schema,
    defaulted,
    problems_of,
    pruned,
    unspecified_fields,
)
from steersman.cluster.apiserver.write_options import IGNORE, STRICT, WriteOptions
from steersman.cluster.store import Document, Store
from steersman.cluster.store.errors import BadRequest

DEFINITIONS: Final = "customresourcedefinitions"
WEBHOOKS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
POLICIES: Final = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")
NOT_CALLED: Final = "this cluster calls only webhooks with a url on loopback"
NOT_EVALUATED: Final = "this cluster stores mutating admission policies and does not evaluate them"
NOT_CONVERTED: Final = "this cluster calls no conversion webhooks: versions differ in their apiVersion only"
NOT_AGGREGATED: Final = "this cluster stores APIServices and forwards no requests to them"

ADMIN_ACCESS: Final = "resource.kubernetes.io/admin-access"
_OBJECT_META: Final = FieldSchema({"$ref": REFERENCE + OBJECT_META})
_HEADER: Final = FieldSchema(
    {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": REFERENCE + OBJECT_META},
        },
    }
)
"""Schema of the fields common to all custom resources."""
_STEPS: Final = re.compile(r"[^.\[\]]+")


class PreparedObject(NamedTuple):
    """An object after the rules of its kind."""

    document: Document
    #: The object as sent, with defaults: its fields belong to the client. Strategies and admission
    #: add others.
    sent: Document


class Rules:
    """Rules that validate and complete a document before it is stored; they raise rejections."""

    def __init__(self, customs: CustomResources, store: Store) -> None:
        self._customs = customs
        self._store = store

    def prepare(
        self,
        resource: Resource,
        document: Document,
        old: Document | None,
        options: WriteOptions,
        warnings: list[str],
        subresource: str = "",
    ) -> PreparedObject:
        """Return the document to store. Raises 400 and 422."""
        document = self.decode(resource, document, options, warnings)
        if subresource != "status":
            document = with_default_fields(document, is_new=False)
        if resource.plural == DEFINITIONS:
            document = with_definition_defaults(document)
        schema, fields = self._customs.version(resource).schema, schema_of(resource.api_version, resource.kind)
        if schema:
            document = defaulted(document, schema)
        sent = document
        if not subresource:
            document = prepared(document, old, self._store.timestamp())
        if old is not None and fields is not None:
            old = codec.without_nulls(old)  # the rules expect decoded documents
        problems = list(self._problems(resource, document, old, subresource or options.rules_of))
        if problems and old is not None:
            known = set(self._problems(resource, old, None, subresource))
            problems = [problem for problem in problems if not (problem in known and _is_left(problem, document, old))]
        refuse(resource.api_version, resource.kind, document["metadata"].get("name", ""), problems)
        if subresource != "status":
            warnings += find_warnings(document, old)
        warnings += _notices(resource, document)
        written = document if fields is None else as_go_writes(document, fields)
        if document is sent or fields is None:
            return PreparedObject(written, written if document is sent else sent)
        return PreparedObject(written, as_go_writes(sent, fields))

    def decode(self, resource: Resource, document: Document, options: WriteOptions, warnings: list[str]) -> Document:
        """Return the document without unknown fields, which are rejected (Strict, 400), reported
        (Warn) or dropped silently (Ignore). Type errors are raised here for built-in kinds; for
        custom ones by their schema."""
        validation = cast("FieldValidation", options.field_validation)
        schema = self._customs.version(resource).schema
        if schema:
            return _decoded_custom(document, schema, validation, warnings)
        fields = schema_of(resource.api_version, resource.kind)
        if fields is None:
            return document
        known, complaints = decoded(document, fields, validation)
        warnings += complaints
        return known

    def custom_schema(self, resource: Resource) -> FieldSchema | None:
        """Return the schema of a custom resource with metadata; None for built-in resources."""
        schema = self._customs.version(resource).schema
        return custom_resource_schema(schema) if schema else None

    def _problems(
        self, resource: Resource, document: Document, old: Document | None, subresource: str
    ) -> Iterator[FieldError]:
        """Yield a document's errors; as upstream, status updates skip most rules of the kind."""
        schema = self._customs.version(resource).schema
        if old is None and not schema and resource.plural != DEFINITIONS and subresource != "status":
            yield from with_metadata_errors(document, self._new_object_errors(document))
            return
        metadata_errors = list(validate_metadata(document, old))
        yield from metadata_errors
        if schema:
            yield from problems_of(document, schema, old, metadata_errors)
        elif resource.plural == DEFINITIONS:
            yield from definition_errors(document, old) if subresource != "status" else ()
        elif subresource != "status":
            assert old is not None, "new objects are validated above"
            yield from validate_update(document, old, subresource)
            yield from find_selector_errors(document)
        elif old is not None:
            yield from validate_status(document, old)

    def _new_object_errors(self, document: Document) -> Iterator[FieldError]:
        yield from self._admin_access_errors(document)
        yield from validate(document, is_decoded=True)
        yield from find_selector_errors(document)

    def _admin_access_errors(self, document: Document) -> Iterator[FieldError]:
        """Yield an error per request with admin access, unless the namespace's label allows it."""
        group, kind = group_kind(document)
        if group != "resource.k8s.io" or kind not in ("ResourceClaim", "ResourceClaimTemplate"):
            return
        namespace = self._store.find(api.Namespace, document["metadata"].get("namespace") or "")
        if namespace is not None and namespace.metadata.labels.get(ADMIN_ACCESS) == "true":
            return
        steps = ("spec", "devices") if kind == "ResourceClaim" else ("spec", "spec", "devices")
        for index, request in enumerate(elements(document, *steps, "requests")):
            if part(request, "exactly").get("adminAccess"):
                detail = (
                    f"admin access to devices requires the `{ADMIN_ACCESS}: true` label on the containing namespace"
                )
                yield FieldError.forbidden(f"spec.devices.requests[{index}].adminAccess", detail)


def _decoded_custom(
    document: Document, schema: Mapping[str, Any], validation: FieldValidation, warnings: list[str]
) -> Document:
    header = {name: document[name] for name in ("apiVersion", "kind", "metadata")}
    check_types(document, document["metadata"], _OBJECT_META)
    known, complaints = decoded(header, _HEADER, validation)
    found = [f'unknown field "{path}"' for path in unspecified_fields(document, schema)]
    if found and validation == STRICT:
        raise BadRequest(unhandled(document, f"strict decoding error: {', '.join(found)}"))
    warnings += complaints
    warnings += found if validation != IGNORE else ()
    return {**pruned(document, schema), **known}


def _is_left(problem: FieldError, document: Document, old: Document) -> bool:
    """Return whether the invalid value is unchanged, which is allowed (ratcheting)."""
    return is_same(_at(document, problem.field), _at(old, problem.field))


def _at(document: Document, field: str) -> Any:
    """Return the value at a path such as `spec.hosts[1].name`, None if missing; the whole object if
    the problem has no field."""
    value: Any = document if field != NOWHERE else {**document, "metadata": None}
    for step in _STEPS.findall(field) if field != NOWHERE else ():
        if isinstance(value, list) and step.isdecimal():
            value = value[int(step)] if int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _notices(resource: Resource, document: Document) -> Iterable[str]:
    """Yield warnings about objects that are stored but have no effect in this cluster."""
    if resource.plural in WEBHOOKS:
        if not all(is_called(hook) for hook in document.get("webhooks") or ()):
            yield NOT_CALLED
    elif resource.plural in POLICIES:
        yield NOT_EVALUATED
    elif resource.plural == "apiservices" and (document.get("spec") or {}).get("service"):
        yield NOT_AGGREGATED
    elif resource.plural == DEFINITIONS:
        strategy = ((document.get("spec") or {}).get("conversion") or {}).get("strategy")
        if strategy == "Webhook":
            yield NOT_CONVERTED
        yield from (f'unrecognized format "{name}"' for name in unrecognized_formats(document))
