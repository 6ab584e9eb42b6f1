# SPDX-License-Identifier: Apache-2.0
"""What is checked and completed in an object before it is stored: unknown fields, defaults, rules of the kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.api.schemas import FieldSchema, object_meta_schema, schema_of
from steersman.api.unknown_fields import unknown_fields
from steersman.apiserver.custom_resources import CustomResources, definition_errors, with_definition_defaults
from steersman.apiserver.object_names import metadata_errors
from steersman.apiserver.resources import Resource
from steersman.apiserver.statuses import bad_request, invalid
from steersman.apiserver.write_options import IGNORE, STRICT, WriteOptions
from steersman.embedded import Document

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


class Rules:
    """Implements `writes.ObjectRules`."""

    def __init__(self, customs: CustomResources) -> None:
        self._customs = customs

    def prepare(
        self, resource: Resource, document: Document, old: Document | None, options: WriteOptions, warnings: list[str]
    ) -> Document:
        """The document as it is to be stored; raises 400 and 422."""
        self.check_fields(resource, document, options, warnings)
        if resource.plural == DEFINITIONS:
            document = with_definition_defaults(document)
        errors = [*metadata_errors(resource, document, old)]
        if resource.plural == DEFINITIONS:
            errors += definition_errors(document)
        if errors:
            raise invalid(resource, document["metadata"].get("name", ""), errors)
        warnings += _notices(resource, document)
        return document

    def check_fields(self, resource: Resource, document: Document, options: WriteOptions, warnings: list[str]) -> None:
        """Unknown fields are refused (Strict, 400), told (Warn), or nobody looks for them (Ignore)."""
        schema = schema_of(resource.api_version, resource.kind)
        if options.field_validation == IGNORE or schema is None:
            return
        found = [f'unknown field "{field.path}"' for field in unknown_fields(document, schema)]
        if not found:
            return
        if options.field_validation == STRICT:
            kind = f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}'
            raise bad_request(f"{kind}: strict decoding error: {', '.join(found)}")
        warnings += found

    def custom_schema(self, resource: Resource) -> FieldSchema | None:
        """The schema of a custom resource, with that of the metadata; None for built-in ones."""
        schema = self._customs.version(resource).schema
        if not schema:
            return None
        own = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": object_meta_schema().node}
        return FieldSchema({**schema, "properties": {**(schema.get("properties") or {}), **own}})


def _notices(resource: Resource, document: Document) -> Iterable[str]:
    """What is stored but does not work here."""
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
