# SPDX-License-Identifier: Apache-2.0
"""Changes of objects, the parts that fixes are made of, and the patches that they come to.

A `Change` edits the JSON of an object, or creates one. Several changes of one object are carried out one after the other on one
copy of it, and the difference is the patch. A `NumberedChange` stands for a row of changes, each a step further from what is
there now than the one before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, Final, NamedTuple, TypeAlias

from steersman.fixes.fix import FixKind, ObjectName, PodMove

Document: TypeAlias = dict[str, Any]
Edit: TypeAlias = Callable[[Document], None]
"""Changes a document in place."""

_NAMED_LISTS: Final = ("containers", "initContainers")
"""Lists that a strategic merge patch merges by the names of their entries, and that hold more than scheduling reads."""
_KEYED_LISTS: Final = ("topologySpreadConstraints", "schedulingGates", "ports")
"""Lists that a strategic merge patch merges too, and that are to be replaced."""
_REPLACE: Final = {"$patch": "replace"}


class Renewal(NamedTuple):
    """An object that has to be made again from what it is made of, after that has changed; `maker` is who makes it, None: it
    has to be written again as it is."""

    target: ObjectName
    maker: ObjectName | None = None


class Change(NamedTuple):
    """One part of a fix."""

    kind: FixKind
    #: An imperative clause: "uncordon node n1".
    summary: str
    target: ObjectName | None = None
    edit: Edit | None = None
    #: Manifests to create.
    create: tuple[Document, ...] = ()
    #: Objects to delete.
    delete: tuple[ObjectName, ...] = ()
    #: The command, where there is a better one than a patch.
    command: str = ""
    #: Objects that have to be made again afterwards, in this order.
    renews: tuple[Renewal, ...] = ()
    #: The pod that moves.
    moves: PodMove | None = None

    @property
    def key(self) -> str:
        """Equal for changes that are the same."""
        return f"{self.kind} {self.summary}"


class NumberedChange(NamedTuple):
    """A change by a number, of which the least step that helps is wanted; every further step helps as well."""

    #: Equal for changes of the same number.
    key: str
    kind: FixKind
    #: The step that probably is the least one that helps.
    guess: int
    #: The furthest step.
    furthest: int
    #: The change of a step from 1 to `furthest`.
    make: Callable[[int], Change]


AnyChange: TypeAlias = "Change | NumberedChange"


class SpecPlace(NamedTuple):
    """Where the spec of a pod or a claim is changed: in the object itself, or in a template that it is made from."""

    target: ObjectName
    #: The way to what has the spec: names of fields, and positions in lists.
    path: tuple[str | int, ...] = ()

    def change(self, kind: FixKind, summary: str, edit: Edit) -> Change:
        """A change of the spec. Its edit raises `LookupError` for a template that stays as it is: what the pod has came from
        elsewhere, such as a webhook, which would put it there again."""

        def edit_document(document: Document) -> None:
            spec = self.spec_of(document)
            before = deepcopy(spec) if self.path else None
            edit(spec)
            if spec == before:
                raise KeyError(summary)

        return Change(kind, summary, self.target, edit_document)

    def spec_of(self, document: Document) -> Document:
        """The spec in the document, to be changed in place."""
        part: Any = document
        for name in (*self.path, "spec"):
            part = part[name] if isinstance(name, int) else part.setdefault(name, {})
        found: Document = part
        return found


def container_of(spec: Document, list_name: str, position: int, name: str) -> Document:
    """The container of this name, to be changed in place. A template has it elsewhere than the pod if a webhook has added
    others. Raises `LookupError` if there is none."""
    entries: list[Document] = spec.get(list_name) or []
    if position < len(entries) and entries[position].get("name", "") == name:
        return entries[position]
    for entry in entries:
        if entry.get("name", "") == name:
            return entry
    raise KeyError(name)


def edited(changes: Iterable[Change], originals: Mapping[ObjectName, Document]) -> dict[ObjectName, Document]:
    """The documents after the changes, of the objects that they edit."""
    documents: dict[ObjectName, Document] = {}
    for change in changes:
        if change.target is not None and change.edit is not None:
            if change.target not in documents:
                documents[change.target] = deepcopy(originals[change.target])
            change.edit(documents[change.target])
    return documents


def merge_patch(before: Document, after: Document) -> Document:
    """The JSON merge patch that makes one document of the other."""
    patch: Document = {name: None for name in before if name not in after}
    for name, value in after.items():
        old = before.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            inner = merge_patch(old, value)
            if inner:
                patch[name] = inner
        elif old != value:
            patch[name] = value
    return patch


def replaces_containers(patch: Document) -> bool:
    """Whether a merge patch has whole containers, and with them the fields that are known of them alone."""
    return any(_touches(patch, name) for name in _NAMED_LISTS)


def strategic_patch(before: Document, after: Document) -> Document | None:
    """The strategic merge patch that does the same and leaves alone what it does not name, also in containers; None where a
    merge patch does that as well."""
    return _strategic(before, after) if replaces_containers(merge_patch(before, after)) else None


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
