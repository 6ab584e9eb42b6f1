# SPDX-License-Identifier: Apache-2.0
"""What a client sends and wants to have: JSON or YAML, objects, Tables or metadata alone.

Protobuf is read (`protobuf`) and not written: clients that prefer it name JSON as well and get that; those that name
nothing else get a 406.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import yaml

from steersman.api import codec, yaml_documents
from steersman.apiserver.protobuf import decoded_object
from steersman.apiserver.statuses import RequestRefused, bad_request
from steersman.embedded import Document
from steersman.errors import InputError

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
TABLE: Final = "Table"
PARTIAL: Final = "PartialObjectMetadata"
PARTIAL_LIST: Final = "PartialObjectMetadataList"
AGGREGATED_DISCOVERY: Final = "APIGroupDiscoveryList"
NOT_ACCEPTABLE: Final = "only the following media types are accepted: application/json, application/yaml"
_FORMS: Final = {"": "", TABLE: TABLE, PARTIAL: PARTIAL, PARTIAL_LIST: PARTIAL}
_META_GROUP: Final = "meta.k8s.io"


class MediaType(msgspec.Struct, frozen=True):
    """How an answer is written (`format`) and which form objects take: whole (""), `Table`, `PartialObjectMetadata`, or
    aggregated discovery; `version` is that of the form."""

    format: str = JSON
    form: str = ""
    version: str = "v1"


def accepted(header: str) -> MediaType:
    """The first of the types in an Accept header that can be had; raises 406."""
    if not header.strip():
        return MediaType()
    for offer in header.split(","):
        name, *parameters = (part.strip() for part in offer.split(";"))
        found = _media_type(name, dict(part.split("=", 1) for part in parameters if "=" in part))
        if found is not None:
            return found
    raise RequestRefused(406, "NotAcceptable", NOT_ACCEPTABLE)


def _media_type(name: str, parameters: dict[str, str]) -> MediaType | None:
    written = {JSON: JSON, "*/*": JSON, "application/*": JSON, YAML: YAML}.get(name)
    if written is None:
        return None
    form, version = parameters.get("as", ""), parameters.get("v", "v1")
    if form == AGGREGATED_DISCOVERY:
        return MediaType(written, form, version) if version in ("v2", "v2beta1") else None
    if form not in _FORMS or (form and parameters.get("g") != _META_GROUP):
        return None
    return MediaType(written, _FORMS[form], version)


def decoded(body: bytes, content_type: str) -> Document:
    """The object in a body; raises 400 or 415."""
    value = decoded_value(body, content_type)
    if not isinstance(value, dict):
        raise bad_request("the body of the request is not an object")
    return value


def decoded_value(body: bytes, content_type: str) -> Any:
    """JSON or YAML → plain values; a body without a type is taken for JSON, which YAML includes."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind == PROTOBUF:
        return decoded_object(body)
    if kind == "application/cbor":
        expected = f"the body of the request was in an unknown format - accepted media types include: {JSON}, {YAML}"
        raise RequestRefused(415, "UnsupportedMediaType", expected)
    try:
        if kind in (YAML, "application/x-yaml", "text/yaml", "application/apply-patch+yaml"):
            return next(yaml_documents.documents(body.decode()), None)
        return codec.plain(body)
    except (InputError, UnicodeDecodeError) as error:
        raise bad_request(f"the object provided is unrecognized: {error}") from error


def encoded(document: Document, media: MediaType) -> bytes:
    if media.format == YAML:
        return yaml.safe_dump(document, sort_keys=True, allow_unicode=True).encode()
    return msgspec.json.encode(document)
