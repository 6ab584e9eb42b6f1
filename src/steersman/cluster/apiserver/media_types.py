# SPDX-License-Identifier: Apache-2.0
"""Media types of requests and responses: JSON, YAML or protobuf; objects, Tables or metadata only.

Duplicate fields of a body are reported with upstream's messages, and the last value is used. Custom
resources and Tables have no protobuf encoding: clients get JSON if they accept it, else 406.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import yaml

from steersman.api import codec, fields_in_order, yaml_documents
from steersman.base import InputError
from steersman.cluster.apiserver.protobuf import decoded_object
from steersman.cluster.apiserver.protobuf_encoding import encoded_frame, encoded_object
from steersman.cluster.apiserver.protobuf_table import has_table
from steersman.cluster.apiserver.statuses import RequestRefused, bad_request
from steersman.cluster.store import Document
from steersman.cluster.store.errors import UnsupportedMediaType

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
TABLE: Final = "Table"
PARTIAL: Final = "PartialObjectMetadata"
PARTIAL_LIST: Final = "PartialObjectMetadataList"
AGGREGATED_DISCOVERY: Final = "APIGroupDiscoveryList"
NOT_ACCEPTABLE: Final = f"only the following media types are accepted: {JSON}, {YAML}, {PROTOBUF}"
UNRECOGNIZED: Final = "the object provided is unrecognized"
BODY_TYPES: Final = (JSON, YAML, PROTOBUF)
"""Media types of bodies that contain an object; `patches` has those of patches."""
_FORMS: Final = {"": "", TABLE: TABLE, PARTIAL: PARTIAL, PARTIAL_LIST: PARTIAL}
_META_GROUP: Final = "meta.k8s.io"
_WRITTEN: Final = {JSON: JSON, "*/*": JSON, "application/*": JSON, YAML: YAML, PROTOBUF: PROTOBUF}


class MediaType(msgspec.Struct, frozen=True):
    """Encoding of a response (`format`) and form of its objects: whole (""), `Table`,
    `PartialObjectMetadata` or aggregated discovery, in `version`."""

    format: str = JSON
    form: str = ""
    version: str = "v1"

    @property
    def stream_type(self) -> str:
        """Content type of a watch."""
        return f"{PROTOBUF};stream=watch" if self.format == PROTOBUF else JSON


def accepted(header: str, *, has_protobuf: bool = False) -> MediaType:
    """Return the first type in an Accept header that the server supports. Raises 406.
    `has_protobuf` is whether whole objects have a protobuf encoding."""
    if not header.strip():
        return MediaType()
    for offer in header.split(","):
        name, *parameters = (part.strip() for part in offer.split(";"))
        found = _media_type(name, dict(part.split("=", 1) for part in parameters if "=" in part), has_protobuf)
        if found is not None:
            return found
    raise not_acceptable()


def not_acceptable() -> RequestRefused:
    """Return the error 406."""
    return RequestRefused(406, "NotAcceptable", NOT_ACCEPTABLE)


def accepted_for_status(header: str) -> MediaType:
    """Return the media type of a Status; JSON if the client accepts no supported type."""
    plain = [offer for offer in header.split(",") if "as=" not in offer]
    try:
        return accepted(",".join(plain), has_protobuf=True)
    except RequestRefused:
        return MediaType()


def _media_type(name: str, parameters: dict[str, str], has_protobuf: bool) -> MediaType | None:
    written = _WRITTEN.get(name)
    form, version = parameters.get("as", ""), parameters.get("v", "v1")
    if written is None:
        return None
    if written == PROTOBUF and (not has_table() or form == TABLE or not (form or has_protobuf)):
        return None
    if form == AGGREGATED_DISCOVERY:
        return MediaType(written, form, version) if version in ("v2", "v2beta1") else None
    if form not in _FORMS or (form and (parameters.get("g") != _META_GROUP or version not in ("v1", "v1beta1"))):
        return None
    return MediaType(written, _FORMS[form], version)


class RepeatedFields(msgspec.Struct):
    """Fields that occur more than once in a body."""

    #: Message of strict decoding → path of the field ("" for YAML).
    messages: dict[str, str] = {}
    #: Paths of all fields and the `messages`, in body order; empty for YAML.
    order: list[str] = []


def decoded(body: bytes, content_type: str, repeated: RepeatedFields | None = None) -> Document:
    """Decode the object in a body; JSON if it has no content type. Raises 400, or 415 for
    unsupported types. Duplicate fields are added to `repeated`."""
    value = decoded_value(body, content_type or JSON, BODY_TYPES, repeated)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad_request(f"{UNRECOGNIZED}: the body of the request is not an object")
    return value


def decoded_value(
    body: bytes, content_type: str, accepted_types: Sequence[str], repeated: RepeatedFields | None = None
) -> Any:
    """Decode a JSON, YAML or protobuf body to plain values. Raise 400, or 415 for other types."""
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in accepted_types:
        raise UnsupportedMediaType(accepted_types)
    if kind == PROTOBUF:
        return decoded_object(body)
    try:
        text = body.decode()
        if kind.endswith("yaml") and not text.lstrip().startswith("{"):
            return _decoded_yaml(text, repeated)
        value = codec.plain(body)
    except UnicodeDecodeError as error:
        raise bad_request(f"{UNRECOGNIZED}: the body is not UTF-8 text") from error
    except InputError as error:
        raise bad_request(f"{UNRECOGNIZED}: {error}") from error
    if repeated is not None:
        _find_repeated(text, repeated)
    return value


def _decoded_yaml(text: str, repeated: RepeatedFields | None) -> Any:
    found: list[str] = []
    value = next(yaml_documents.documents(text, found), None)
    if repeated is not None and found:
        repeated.messages["\n  ".join(("yaml: unmarshal errors:", *found))] = ""
    return value


def _find_repeated(text: str, found: RepeatedFields) -> None:
    for where, is_repeated in fields_in_order(text):
        found.order.append(where)
        if is_repeated and (message := f'duplicate field "{where}"') not in found.messages:
            found.order.append(message)
            found.messages[message] = where


def encoded(document: Document, media: MediaType) -> bytes:
    """Encode a response."""
    if media.format == PROTOBUF:
        return encoded_object(document)
    if media.format == YAML:
        return yaml.safe_dump(document, sort_keys=True, allow_unicode=True).encode()
    return msgspec.json.encode(document)


def encoded_event(what: str, document: Document, media: MediaType) -> bytes:
    """Encode a watch event: a line of JSON, or a protobuf frame."""
    if media.format == PROTOBUF:
        return encoded_frame(what, document)
    return msgspec.json.encode({"type": what, "object": document}) + b"\n"
