# SPDX-License-Identifier: Apache-2.0
"""Checks and completes an object before it is stored: unknown fields, defaults, rules of the kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, cast

from steersman.api.json_values import is_same
from steersman.api.schemas import FieldSchema, schema_of
from steersman.api.validation import validate, validate_update
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.metadata import validate_metadata
from steersman.apiserver.custom_resources import CustomResources, definition_problems, with_definition_defaults
from steersman.apiserver.default_fields import with_default_fields
from steersman.apiserver.invalid_objects import refuse
from steersman.apiserver.resources import Resource
from steersman.apiserver.schema_validation import NOWHERE
from steersman.apiserver.strict_decoding import FieldValidation, decoded, unhandled
from steersman.apiserver.structural_schemas import (
    custom_resource_schema,
    defaulted,
    problems_of,
    problems_of_definition,
    pruned,
    unspecified_fields,
)
from steersman.apiserver.write_options import IGNORE, STRICT, WriteOptions
from steersman.embedded import Document
from steersman.embedded.errors import BadRequest

DEFINITIONS: Final = "customresourcedefinitions"
WEBHOOKS: Final = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
POLICIES: Final = (
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
)
NOT_CALLED: Final = "this cluster stores webhook configurations and calls no webhooks"
NOT_EVALUATED: Final = "this cluster stores admission policies and does not evaluate them"
NOT_CONVERTED: Final = "this cluster calls no conversion webhooks: versions differ in their apiVersion only"
NOT_AGGREGATED: Final = "this cluster stores APIServices and forwards no requests to them"

_HEADER: Final = custom_resource_schema({"type": "object"})
"""The fields that every object of a custom resource has."""
_STEPS: Final = re.compile(r"[^.\[\]]+")


class Rules:
    """Implements `writes.ObjectRules`."""

    def __init__(self, customs: CustomResources) -> None:
        self._customs = customs

    def prepare(
        self,
        resource: Resource,
        document: Document,
        old: Document | None,
        options: WriteOptions,
        warnings: list[str],
        subresource: str = "",
    ) -> Document:
        """The document as it is to be stored; raises 400 and 422."""
        document = self.decode(resource, document, options, warnings)
        if subresource != "status":
            document = with_default_fields(document)
        if resource.plural == DEFINITIONS:
            document = with_definition_defaults(document)
        schema = self._customs.version(resource).schema
        if schema:
            document = defaulted(document, schema)
        before = old if options.checks_immutable_fields else None
        problems = list(self._problems(resource, document, before, subresource))
        if problems and old is not None:
            known = set(self._problems(resource, old, None, subresource))
            problems = [problem for problem in problems if not (problem in known and _is_left(problem, document, old))]
        refuse(resource.api_version, resource.kind, document["metadata"].get("name", ""), problems)
        warnings += _notices(resource, document)
        return document

    def decode(self, resource: Resource, document: Document, options: WriteOptions, warnings: list[str]) -> Document:
        """The document without fields that its kind has not: those are refused (Strict, 400), told (Warn), or dropped in
        silence (Ignore). Values of the wrong type are refused for built-in kinds here, for custom ones by their schema."""
        validation = cast("FieldValidation", options.field_validation)
        schema = self._customs.version(resource).schema
        if schema:
            return _decoded_custom(document, schema, validation, warnings)
        fields = schema_of(resource.api_version, resource.kind)
        if fields is None:
            return document
        known, told = decoded(document, fields, validation)
        warnings += told
        return known

    def custom_schema(self, resource: Resource) -> FieldSchema | None:
        """The schema of a custom resource, with that of the metadata; None for built-in ones."""
        schema = self._customs.version(resource).schema
        return custom_resource_schema(schema) if schema else None

    def _problems(
        self, resource: Resource, document: Document, old: Document | None, subresource: str
    ) -> Iterator[FieldError]:
        """A status is written whatever the rules of its kind have against the rest, as upstream does."""
        yield from validate_metadata(document, old)
        schema = self._customs.version(resource).schema
        if schema:
            yield from problems_of(document, schema, old)
        elif resource.plural == DEFINITIONS:
            yield from definition_problems(document)
            yield from problems_of_definition(document)
        elif subresource != "status":
            yield from validate(document) if old is None else validate_update(document, old)


def _decoded_custom(
    document: Document, schema: Mapping[str, Any], validation: FieldValidation, warnings: list[str]
) -> Document:
    header = {name: document[name] for name in ("apiVersion", "kind", "metadata")}
    known, told = decoded(header, _HEADER, validation)
    found = [f'unknown field "{path}"' for path in unspecified_fields(document, schema)]
    if found and validation == STRICT:
        raise BadRequest(unhandled(document, f"strict decoding error: {', '.join(found)}"))
    warnings += told
    warnings += found if validation != IGNORE else ()
    return {**pruned(document, schema), **known}


def _is_left(problem: FieldError, document: Document, old: Document) -> bool:
    """The update has not touched what is wrong: it was there before, and may stay."""
    return is_same(_at(document, problem.field), _at(old, problem.field))


def _at(document: Document, field: str) -> Any:
    """The value of `spec.hosts[1].name`; the whole object if the problem is not about a field, None where there is nothing."""
    value: Any = document if field != NOWHERE else {**document, "metadata": None}
    for step in _STEPS.findall(field) if field != NOWHERE else ():
        if isinstance(value, list) and step.isdecimal():
            value = value[int(step)] if int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _notices(resource: Resource, document: Document) -> Iterable[str]:
    """Warnings about objects that are stored but do nothing in this cluster."""
    if resource.plural in WEBHOOKS:
        yield NOT_CALLED
    elif resource.plural in POLICIES:
        yield NOT_EVALUATED
    elif resource.plural == "apiservices" and (document.get("spec") or {}).get("service"):
        yield NOT_AGGREGATED
    elif resource.plural == DEFINITIONS:
        strategy = ((document.get("spec") or {}).get("conversion") or {}).get("strategy")
        if strategy == "Webhook":
            yield NOT_CONVERTED
