# SPDX-License-Identifier: Apache-2.0
"""Base class of the arguments of in-tree plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

from steersman.config.configuration import ConfigStruct
from steersman.config.errors import FieldError
from steersman.config.feature_gates import FeatureGates
from steersman.config.field_kinds import Field, ObjectOf, header


class PluginArgs(ConfigStruct, frozen=True):
    """Arguments of one in-tree plugin; the subclass is named after the plugin: `NodeAffinityArgs`.

    An instance without values has the plugin's defaults, except those that depend on feature gates.
    """

    document_fields: ClassVar[Mapping[str, Field]] = {}
    """Field name in a document to its attribute and kind of value."""

    checked_only_when_built: ClassVar[bool] = False
    """Whether validation skips these arguments and only creating the plugin finds wrong values."""

    @classmethod
    def table(cls) -> ObjectOf:
        """Return the table by which documents are decoded and printed."""
        return ObjectOf(cls, cls.document_fields, header=header(cls.__name__))

    def with_gated_defaults(self, gates: FeatureGates) -> Self:
        """Return the arguments with the defaults that enabled feature gates add."""
        return self

    def errors(self, path: str, gates: FeatureGates) -> list[FieldError]:
        """Return the errors in upstream's order and words; `path` precedes field names."""
        return []
