# SPDX-License-Identifier: Apache-2.0
"""The validation rules of one kind: what each module of this package declares in its table `RULES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from steersman.api.json_values import Document
from steersman.api.validation.field_errors import FieldError

Validate: TypeAlias = Callable[[Document], Iterator[FieldError]]
"""Yields the errors of a defaulted object, in upstream's order."""
ValidateUpdate: TypeAlias = Callable[[Document, Document], Iterator[FieldError]]
"""Yields the errors of a change, given the new and the stored object: immutable fields and illegal transitions."""


class KindRules(msgspec.Struct, frozen=True):
    """The rules of a kind. Metadata is validated for every kind by `metadata`."""

    validate: Validate | None = None
    validate_update: ValidateUpdate | None = None
