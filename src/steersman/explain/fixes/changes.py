# SPDX-License-Identifier: Apache-2.0
"""Changes of objects, which fixes consist of, and their patches.

A `Change` edits the JSON of an object, or creates one. Changes of the same object are applied to
one copy in turn, and the difference is the patch. A `NumberedChange` is a series of changes, each
further from the current value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple, TypeAlias

from steersman import api
from steersman.api import codec, create_merge_patch
from steersman.explain.fixes.fix import FixKind, ObjectName, PodMove
from steersman.simulation import Given, Simulation

Document: TypeAlias = dict[str, Any]
Edit: TypeAlias = Callable[[Document], None]
"""Function that changes a document in place."""

_NAMED_LISTS: Final = ("containers", "initContainers")
"""Lists that a strategic merge patch merges by the names of the entries, which have more fields
than scheduling reads."""
_KEYED_LISTS: Final = ("topologySpreadConstraints", "schedulingGates", "ports")
"""Lists that a strategic merge patch would merge, but that fixes replace."""
_REPLACE: Final = {"$patch": "replace"}


class Recreation(NamedTuple):
    """An object to recreate after a change, by its `workload`; None to replace it unchanged."""

    target: ObjectName
    workload: ObjectName | None = None


class Change(NamedTuple):
    """One part of a fix."""

    kind: FixKind
    #: Imperative clause: "uncordon node n1".
    summary: str
    target: ObjectName | None = None
    edit: Edit | None = None
    #: Manifests to create.
    create: tuple[Document, ...] = ()
    #: Objects to delete.
    delete: tuple[ObjectName, ...] = ()
    #: Command to use instead of a patch; "" for the patch.
    command: str = ""
    #: Objects that have to be recreated afterwards, in this order.
    recreates: tuple[Recreation, ...] = ()
    #: The pod that moves.
    moves: PodMove | None = None

    @property
    def key(self) -> str:
        """Key that equal changes share."""
        return f"{self.kind} {self.summary}"


class NumberedChange(NamedTuple):
    """A change in steps; search finds the smallest one that helps; larger steps help too."""

    #: Key that changes of the same number share.
    key: str
    kind: FixKind
    #: Estimate of the smallest step that helps.
    guess: int
    #: The largest step.
    furthest: int
    #: Returns the change of a step from 1 to `furthest`.
    make: Callable[[int], Change]


AnyChange: TypeAlias = "Change | NumberedChange"


class SpecPlace(NamedTuple):
    """Place where the spec of a pod or claim is changed: the object, or the template that creates
    it."""

    target: ObjectName
    #: Path to the object that has the spec: field names and list positions.
    path: tuple[str | int, ...] = ()
    #: Objects that have to be recreated after a change.
    recreates: tuple[Recreation, ...] = ()

    def change(self, kind: FixKind, summary: str, edit: Edit) -> Change:
        """Return a change of the spec. Its edit raises `LookupError` if the template does not
        change: then the field came from elsewhere, such as a webhook, which would set it again."""

        def edit_document(document: Document) -> None:
            spec = self.spec_of(document)
            before = deepcopy(spec) if self.path else None
            edit(spec)
            if spec == before:
                raise KeyError(summary)

        return Change(kind, summary, self.target, edit_document, recreates=self.recreates)

    def spec_of(self, document: Document) -> Document:
        """Return the spec in the document, for editing."""
        part: Any = document
        for name in (*self.path, "spec"):
            part = part[name] if isinstance(name, int) else part.setdefault(name, {})
        found: Document = part
        return found


# -- edits -------------------------------------------------------------------------------------------------------------


def set_field(value: Any, *path: str | int) -> Edit:
    """Return the edit that sets the field at the path, whose parents must exist."""

    def edit(document: Document) -> None:
        holder: Any = document
        for name in path[:-1]:
            holder = holder[name]
        holder[path[-1]] = value

    return edit


def remove_field(*path: str) -> Edit:
    """Return the edit that removes the field at the path, and parents that are empty without it."""

    def edit(document: Document) -> None:
        name, *rest = path
        if rest and isinstance(document.get(name), dict):
            remove_field(*rest)(document[name])
        if not rest or not document.get(name):
            document.pop(name, None)

    return edit


def set_or_remove(holder: Document, name: str, value: Any) -> None:
    """Set the field, or remove it if the value is empty."""
    if value:
        holder[name] = value
    else:
        holder.pop(name, None)


def containers_in(spec: api.PodSpec) -> Iterator[tuple[str, int, api.Container]]:
    """Yield the containers of the spec with the name of their list and their position in it."""
    for list_name, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        yield from ((list_name, position, container) for position, container in enumerate(containers))


def container_of(spec: Document, list_name: str, position: int, name: str) -> Document:
    """Return the container of this name for editing. Its position in a template may differ from the
    pod's if a webhook has added containers. Raises `LookupError` if there is none."""
    entries: list[Document] = spec.get(list_name) or []
    if position < len(entries) and entries[position].get("name", "") == name:
        return entries[position]
    for entry in entries:
        if entry.get("name", "") == name:
            return entry
    raise KeyError(name)


def edited(changes: Iterable[Change], originals: Mapping[ObjectName, Document]) -> dict[ObjectName, Document]:
    """Return the documents of all edited objects after the changes."""
    documents: dict[ObjectName, Document] = {}
    for change in changes:
        if change.target is not None and change.edit is not None:
            if change.target not in documents:
                documents[change.target] = deepcopy(originals[change.target])
            change.edit(documents[change.target])
    return documents


def replaces_containers(patch: Document) -> bool:
    """Return whether a merge patch replaces whole containers, and so drops fields that are unknown
    here."""
    return any(_touches(patch, name) for name in _NAMED_LISTS)


def strategic_patch(before: Document, after: Document) -> Document | None:
    """Return the equivalent strategic merge patch, which keeps unnamed fields of containers; None
    if a merge patch does not touch containers."""
    return _strategic(before, after) if replaces_containers(create_merge_patch(before, after)) else None


def _strategic(before: Document, after: Document) -> Document:
    patch: Document = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if old == value:
            continue
        if isinstance(old, dict) and isinstance(value, dict):
            patch[name] = _strategic(old, value)
        elif name in _NAMED_LISTS and isinstance(old, list):
            pairs = zip(old, value, strict=True)
            patch[name] = [{"name": new["name"], **_strategic(was, new)} for was, new in pairs if was != new]
        else:
            patch[name] = [*value, _REPLACE] if name in _KEYED_LISTS else value
    return patch


def _touches(patch: Any, name: str) -> bool:
    return isinstance(patch, dict) and (name in patch or any(_touches(value, name) for value in patch.values()))


# -- documents of the input --------------------------------------------------------------------------------------------


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
        return self._simulation.internals.journal.given(api.KINDS[target.kind], key)

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
