# SPDX-License-Identifier: Apache-2.0
"""Validation rules of one kind, an entry in the table `RULES` of a module of this package."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import msgspec

from steersman.api.json_values import Document
from steersman.api.validation.field_errors import FieldError

Validate: TypeAlias = Callable[[Document], Iterator[FieldError]]
"""Function that yields the errors of an object with defaults, in upstream's order."""
ValidateUpdate: TypeAlias = Callable[[Document, Document], Iterator[FieldError]]
"""Function that yields the errors of replacing the stored (second) by the new object."""


class KindRules(msgspec.Struct, frozen=True):
    """Validation rules of a kind, except those of its metadata (see `metadata`)."""

    validate: Validate | None = None
    validate_update: ValidateUpdate | None = None
    #: Whether updates use `validate_update` only, instead of `validate` and `validate_update`.
    has_own_update: bool = False
    #: Complete rules of updates through subresources (such as `resize`), by name.
    subresources: Mapping[str, ValidateUpdate] = {}
