# SPDX-License-Identifier: Apache-2.0
"""What is checked and completed in an object before it is stored: unknown fields, defaults, rules of the kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from steersman.api.schemas import schema_of
from steersman.apiserver.custom_resources import CustomResources, definition_errors, with_definition_defaults
from steersman.apiserver.object_names import metadata_errors
from steersman.apiserver.resources import Resource
from steersman.apiserver.statuses import bad_request, invalid
from steersman.apiserver.write_options import IGNORE, STRICT, WriteOptions
from steersman.embedded import Document

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
        if resource.plural == "customresourcedefinitions":
            document = with_definition_defaults(document)
        errors = [*metadata_errors(resource, document, old)]
        if resource.plural == "customresourcedefinitions":
            errors += definition_errors(document)
        if errors:
            raise invalid(resource, document["metadata"].get("name", ""), errors)
        warnings += _notices(resource, document)
        return document


def _notices(resource: Resource, document: Document) -> Iterable[str]:
    """What is stored but does not work here."""
    if resource.plural in WEBHOOKS:
        yield NOT_CALLED
    elif resource.plural in POLICIES:
        yield NOT_EVALUATED
    elif resource.plural == "apiservices" and (document.get("spec") or {}).get("service"):
        yield NOT_AGGREGATED
    elif resource.plural == "customresourcedefinitions":
        strategy = ((document.get("spec") or {}).get("conversion") or {}).get("strategy")
        if strategy == "Webhook":
            yield NOT_CONVERTED
