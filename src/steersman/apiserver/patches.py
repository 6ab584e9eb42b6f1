# SPDX-License-Identifier: Apache-2.0
"""PATCH requests: a document and a patch of one of three kinds → the changed document.

The media type of the request says which kind it is. JSON patches are in `json_patches`, strategic merge patches in
`strategic_merge_patches`; server-side apply, which comes as a PATCH as well, is in `server_side_apply`. Neither the document
nor the patch is changed. Refusals are `StatusError`s with the codes and words of a kube-apiserver.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.api import codec
from steersman.api.schemas import FieldSchema
from steersman.apiserver.json_patches import json_patched
from steersman.apiserver.strategic_merge_patches import strategically_merged
from steersman.embedded.documents import Document
from steersman.embedded.errors import TOO_DEEP, BadRequest, UnsupportedMediaType

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

PATCH_TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
"""The media types of patches for objects of built-in kinds."""
CUSTOM_RESOURCE_PATCH_TYPES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
"""Schemas of custom resources have no merge keys for strategic merge patches."""

NO_OBJECT: Final = "Invalid JSON Patch"


def patched(media_type: str, document: Document, patch: Any, schema: FieldSchema | None) -> Document:
    """The document after the patch. `schema` is that of a built-in kind, None for a custom resource. Raises `StatusError`."""
    accepted = CUSTOM_RESOURCE_PATCH_TYPES if schema is None else PATCH_TYPES
    if media_type not in accepted or media_type == APPLY_PATCH:
        raise UnsupportedMediaType(accepted)
    try:
        return _patched(media_type, document, patch, schema)
    except RecursionError:
        raise BadRequest(TOO_DEEP) from None


def _patched(media_type: str, document: Document, patch: Any, schema: FieldSchema | None) -> Document:
    if media_type == JSON_PATCH:
        result = json_patched(document, patch)
    elif media_type == MERGE_PATCH:
        result = merge_patched(document, patch)
    else:
        result = strategically_merged(document, patch, schema)
    # Fields of built-in kinds cannot be null: Go reads them as absent. A custom resource may have nullable fields.
    without: Document = result if schema is None else codec.without_nulls(result)
    return without


def merge_patched(document: Document, patch: Any) -> Document:
    """A JSON merge patch (RFC 7386): null removes, objects are merged, everything else replaces."""
    if not isinstance(patch, dict):
        raise BadRequest(NO_OBJECT)
    merged: Document = _merged(document, patch)
    return merged


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged
