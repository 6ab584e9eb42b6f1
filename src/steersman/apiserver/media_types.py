# SPDX-License-Identifier: Apache-2.0
"""Media types of requests and answers: JSON or YAML, objects, Tables or metadata alone.

Protobuf is read (`protobuf`) and not written: clients that prefer it name JSON as well and get that; those that name
nothing else get a 406.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import yaml

from steersman.api import codec, yaml_documents
from steersman.apiserver.protobuf import decoded_object
from steersman.apiserver.statuses import RequestRefused, bad_request
from steersman.embedded import Document
from steersman.embedded.errors import UnsupportedMediaType
from steersman.errors import InputError

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
TABLE: Final = "Table"
PARTIAL: Final = "PartialObjectMetadata"
PARTIAL_LIST: Final = "PartialObjectMetadataList"
AGGREGATED_DISCOVERY: Final = "APIGroupDiscoveryList"
NOT_ACCEPTABLE: Final = "only the following media types are accepted: application/json, application/yaml"
UNRECOGNIZED: Final = "the object provided is unrecognized"
BODY_TYPES: Final = (JSON, YAML, PROTOBUF)
"""The types of bodies that hold an object; those of patches are in `patches`."""
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
    """The object in a body; one without a type is taken for JSON. Raises 400, or 415 for a type that is not read."""
    value = decoded_value(body, content_type or JSON, BODY_TYPES)
    if not isinstance(value, dict):
        raise bad_request("the body of the request is not an object")
    return value


def decoded_value(body: bytes, content_type: str, accepted_types: Sequence[str]) -> Any:
    """A body in JSON, YAML or protobuf → plain values. Raises 400, or 415 for a type that is not accepted."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in accepted_types:
        raise UnsupportedMediaType(accepted_types)
    if kind == PROTOBUF:
        return decoded_object(body)
    try:
        text = body.decode()
        return next(yaml_documents.documents(text), None) if kind.endswith("yaml") else codec.plain(body)
    except UnicodeDecodeError as error:
        raise bad_request(f"{UNRECOGNIZED}: the body is not UTF-8 text") from error
    except InputError as error:
        raise bad_request(f"{UNRECOGNIZED}: {error}") from error


def encoded(document: Document, media: MediaType) -> bytes:
    if media.format == YAML:
        return yaml.safe_dump(document, sort_keys=True, allow_unicode=True).encode()
    return msgspec.json.encode(document)
