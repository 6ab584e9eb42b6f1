# SPDX-License-Identifier: Apache-2.0
"""Validation of built-in kinds, as kube-apiserver's `pkg/apis/*/validation` does it, on JSON documents.

The sandbox's API server and every reader of files (`simulate`, `plan`, `sandbox -f`) use these rules. Input: a document whose
types are right (`api.field_check`, `apiserver.strict_decoding`) and whose defaults are filled in. Output: field errors with
upstream's path, reason and message, in upstream's order.

Read `field_errors` (the result), `kind_rules` (how a kind declares its rules), `checks` (checks of a single field), then any
module of kinds: each ends with a table `RULES`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from steersman.api.json_values import Document, group_kind
from steersman.api.validation import built_in
from steersman.api.validation.field_errors import FieldError
from steersman.api.validation.kind_rules import KindRules

__all__ = ["RULES", "FieldError", "validate", "validate_update"]

RULES: Final[Mapping[tuple[str, str], KindRules]] = {**built_in.RULES}
"""The rules of every built-in kind that has any, by group and kind."""
_NO_RULES: Final = KindRules()


def validate(document: Document) -> list[FieldError]:
    """Return the errors of an object without its metadata, as on creation."""
    rules = RULES.get(group_kind(document), _NO_RULES)
    return list(rules.validate(document)) if rules.validate else []


def validate_update(document: Document, old: Document) -> list[FieldError]:
    """Return the errors of replacing `old` by `document`: those of the new object and of the change."""
    rules = RULES.get(group_kind(document), _NO_RULES)
    return validate(document) + (list(rules.validate_update(document, old)) if rules.validate_update else [])
