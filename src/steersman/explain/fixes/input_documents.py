# SPDX-License-Identifier: Apache-2.0
"""Objects of the simulation's input as plain values, to which patches apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steersman import api
from steersman.api import codec
from steersman.explain.fixes.changes import Change, Document, edited
from steersman.explain.fixes.fix import ObjectName
from steersman.simulation import Given, Simulation


class InputDocuments:
    """Finds objects of the input by name."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._originals: dict[ObjectName, Document] = {}

    def original(self, target: ObjectName) -> Document:
        """Return the object of the input; do not change it. Raises `KeyError` if there is none."""
        if target not in self._originals:
            found = self._given(target)
            if found is None:
                raise KeyError(target)
            self._originals[target] = _document(found)
        return self._originals[target]

    def is_written(self, target: ObjectName) -> bool:
        """Return whether the object was read from a file, with all its fields."""
        found = self._given(target)
        return found is not None and (found.place is not None or found.document is not None)

    def _given(self, target: ObjectName) -> Given | None:
        key = f"{target.namespace}/{target.name}" if target.namespace else target.name
        return self._simulation.journal.given(api.KINDS[target.kind], key)

    def __contains__(self, target: ObjectName) -> bool:
        """Return whether the object is in the input, so that a patch can be applied there."""
        try:
            self.original(target)
        except KeyError:
            return False
        return True

    def patches(self, changes: Sequence[Change]) -> dict[ObjectName, tuple[Document, Document]]:
        """Return the edited objects, each with its document before and after the changes."""
        originals = {change.target: self.original(change.target) for change in changes if change.target is not None}
        return {target: (originals[target], document) for target, document in edited(changes, originals).items()}


def _document(given: Given) -> Document:
    """Return all known fields of an object of the input as plain values, without nulls."""
    written = given.document
    if written is None:
        return codec.to_dict(given.object)
    found: Document = _without_null(codec.plain(written) if isinstance(written, bytes) else written)
    named = codec.to_dict(given.object)
    return {**found, "apiVersion": named["apiVersion"], "kind": named["kind"]}


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_null(each) for name, each in value.items() if each is not None}
    return [_without_null(each) for each in value] if isinstance(value, list) else value
