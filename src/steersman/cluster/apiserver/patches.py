# SPDX-License-Identifier: Apache-2.0
"""PATCH requests: applies a patch of one of three kinds to a document.

The media type selects the kind. `json_patches` has JSON patches, `strategic_merge_patches`
strategic merge patches, `server_side_apply` server-side apply, which is a PATCH too. Inputs are not
modified. Errors are `StatusError`s with kube-apiserver's codes and messages.
"""

from __future__ import annotations

from typing import Any, Final

from steersman.api import FieldSchema, codec, merge_patch
from steersman.cluster.apiserver.json_patches import apply_json_patch
from steersman.cluster.apiserver.strategic_merge_patches import strategically_merged
from steersman.cluster.store.documents import Document
from steersman.cluster.store.errors import TOO_DEEP, BadRequest, UnsupportedMediaType

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"

PATCH_TYPES: Final = (JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, APPLY_PATCH)
"""Media types of patches for built-in kinds."""
CUSTOM_RESOURCE_PATCH_TYPES: Final = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
"""Media types for custom resources, which lack merge keys for strategic merge patches."""

NO_OBJECT: Final = "Invalid JSON Patch"


def patched(media_type: str, document: Document, patch: Any, schema: FieldSchema | None) -> Document:
    """Return the patched document. `schema` is None for a custom resource. Raises `StatusError`."""
    accepted = CUSTOM_RESOURCE_PATCH_TYPES if schema is None else PATCH_TYPES
    if media_type not in accepted or media_type == APPLY_PATCH:
        raise UnsupportedMediaType(accepted)
    try:
        return _patched(media_type, document, patch, schema)
    except RecursionError:
        raise BadRequest(TOO_DEEP) from None


def _patched(media_type: str, document: Document, patch: Any, schema: FieldSchema | None) -> Document:
    if media_type == JSON_PATCH:
        result = apply_json_patch(document, patch)
    elif media_type == MERGE_PATCH:
        result = merge_patched(document, patch)
    else:
        result = strategically_merged(document, patch, schema)
    # Fields of built-in kinds cannot be null: Go decodes null as absent. Custom resources may have
    # nullable fields.
    without: Document = result if schema is None else codec.without_nulls(result)
    return without


def merge_patched(document: Document, patch: Any) -> Document:
    """Apply a JSON merge patch (RFC 7386): null removes, objects merge, other values replace."""
    if not isinstance(patch, dict):
        raise BadRequest(NO_OBJECT)
    merged: Document = merge_patch(document, patch)
    return merged
