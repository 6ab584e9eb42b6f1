# SPDX-License-Identifier: Apache-2.0
"""Makes the pods of a template.

A template is read once; its pods share the spec, the labels and everything else that is the same, which is what makes the
hundred-thousandth replica cheap to create, to admit and to schedule. In stores that keep documents a pod has every field of
the template, not just those that the scheduler reads.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from steersman.api import Object, ObjectMeta, Pod, PodSpec, PodTemplateSpec, codec
from steersman.bounded_table import RecentTable
from steersman.controllers.controller import controller_reference
from steersman.embedded import Document, Invalid, Store
from steersman.errors import InputError
from steersman.graph_copy import shared_by_copies

LONGEST_NAME: Final = 253
_MOST_REMEMBERED: Final = 1024
_FNV_OFFSET: Final = 2166136261
_FNV_PRIME: Final = 16777619
_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no digits that look like them, so that no words come out."""


@shared_by_copies
class ReadTemplate(NamedTuple):
    """A template, read: what pods of it have in common."""

    document: dict[str, Any]
    metadata: ObjectMeta
    spec: PodSpec


class PodTemplates:
    """The templates of a cluster's controllers, each read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: By identity of the document, which is kept, so that its identity stays its own.
        self._known: RecentTable[int, ReadTemplate] = RecentTable(_MOST_REMEMBERED)

    def read(self, document: dict[str, Any], owner: Object) -> ReadTemplate:
        """The template of an owner; raises `Invalid` if it cannot be read."""
        known = self._known.get(id(document))
        if known is not None:
            return known
        try:
            decoded = codec.convert_part(document, PodTemplateSpec, "template")
        except InputError as error:
            raise Invalid(Pod, owner.metadata.name, str(error)) from error
        template = ReadTemplate(document, decoded.metadata, decoded.spec)
        self._known.put(id(document), template)
        return template

    def pod_maker(self, document: dict[str, Any], owner: Object) -> PodMaker:
        return PodMaker(self._store, self.read(document, owner), owner)


class PodMaker:
    """Makes pods of one template for one owner."""

    def __init__(self, store: Store, template: ReadTemplate, owner: Object) -> None:
        self._store = store
        self.template = template
        self._reference = controller_reference(owner)
        meta = template.metadata
        self.metadata = ObjectMeta(
            generate_name=name_prefix(owner.metadata.name),
            namespace=owner.metadata.namespace,
            labels=meta.labels,
            annotations=meta.annotations,
            finalizers=meta.finalizers,
            owner_references=(self._reference,),
        )
        self._pod = Pod(metadata=self.metadata, spec=template.spec)
        self._document = self.document(self._pod) if store.keeps_documents else None

    def create(self) -> Pod:
        """Another pod, with a name that the store makes up."""
        return self._stored(self._pod, self._document)

    def create_as(self, pod: Pod, **fields: Any) -> Pod:
        """A pod that differs from others of the template; `fields` take the place of those of the spec in documents."""
        return self._stored(pod, self.document(pod, **fields) if self._store.keeps_documents else None)

    def _stored(self, pod: Pod, document: Document | None) -> Pod:
        """Raises `StatusError`, also for what the cluster's host finds wrong with the pod."""
        try:
            return self._store.create(pod, document)
        except InputError as error:
            raise Invalid(Pod, pod.metadata.name or pod.metadata.generate_name, str(error)) from error

    def document(self, pod: Pod, **fields: Any) -> Document:
        """The JSON of a pod of the template."""
        metadata = codec.to_dict(Pod(metadata=pod.metadata))["metadata"]
        spec = {**(self.template.document.get("spec") or {}), **fields}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def without_empty(value: Any) -> Any:
    """The value without nulls, empty maps and empty lists inside: to an API server they are the same as absent."""
    if isinstance(value, dict):
        kept = {name: without_empty(inner) for name, inner in value.items()}
        return {name: inner for name, inner in kept.items() if inner is not None and inner != {} and inner != []}
    if isinstance(value, list):
        return [without_empty(inner) for inner in value]
    return value


def template_hash(template: dict[str, Any], collisions: int | None) -> str:
    """A name for the template that differs from that of others, and after a collision from the one it had."""
    text = msgspec.json.encode(without_empty(template), order="sorted")
    digest = _FNV_OFFSET
    for byte in text + (b"" if collisions is None else collisions.to_bytes(8, "little")):
        digest = (digest ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(digest))


def name_prefix(owner: str) -> str:
    """`web-` of `web`; a name that is too long for the dash goes without."""
    return f"{owner}-" if len(owner) < LONGEST_NAME else owner
