# SPDX-License-Identifier: Apache-2.0
"""What is checked and completed in an object before it is stored: unknown fields, defaults, rules of the kind."""

from __future__ import annotations

from steersman.api.schemas import schema_of
from steersman.apiserver.resources import Resource
from steersman.apiserver.statuses import bad_request
from steersman.apiserver.write_options import IGNORE, STRICT, WriteOptions
from steersman.embedded import Document


class Rules:
    """Implements `writes.ObjectRules`."""

    def prepare(
        self, resource: Resource, document: Document, old: Document | None, options: WriteOptions, warnings: list[str]
    ) -> Document:
        return document
