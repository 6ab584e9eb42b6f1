# SPDX-License-Identifier: Apache-2.0
"""The objects of a simulation as they were given, in plain values: what patches are made of, and can be applied to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from steersman import api
from steersman.api import codec
from steersman.fixes.changes import Change, Document, edited
from steersman.fixes.fix import ObjectName
from steersman.sim import Simulation
from steersman.sim.sources import Given


class InputDocuments:
    """Looks objects up by name."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._originals: dict[ObjectName, Document] = {}

    def original(self, target: ObjectName) -> Document:
        """The object as it was given, not to be changed. `KeyError` for one that was not."""
        if target not in self._originals:
            found = self._given(target)
            if found is None:
                raise KeyError(target)
            self._originals[target] = _document(found)
        return self._originals[target]

    def is_written(self, target: ObjectName) -> bool:
        """Whether the object was read from a file, with all its fields."""
        found = self._given(target)
        return found is not None and (found.place is not None or found.document is not None)

    def _given(self, target: ObjectName) -> Given | None:
        key = f"{target.namespace}/{target.name}" if target.namespace else target.name
        return self._simulation.given(api.KINDS[target.kind], key)

    def __contains__(self, target: ObjectName) -> bool:
        """Whether the object was given, so that a patch of it can be applied to the input."""
        try:
            self.original(target)
        except KeyError:
            return False
        return True

    def patches(self, changes: Sequence[Change]) -> dict[ObjectName, tuple[Document, Document]]:
        """The objects that the changes edit, each with its document as given and after them."""
        originals = {change.target: self.original(change.target) for change in changes if change.target is not None}
        return {target: (originals[target], document) for target, document in edited(changes, originals).items()}


def _document(given: Given) -> Document:
    """Everything that is known of what was given, in plain values; what is null is left out."""
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
