# SPDX-License-Identifier: Apache-2.0
"""Creation of pods from a template.

A template is decoded once; its pods share the spec, labels and other equal parts, which makes the
hundred-thousandth replica cheap to create, admit and schedule. In stores with documents, pods have
every field of the template, not only those that the scheduler reads.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import msgspec

from steersman.api import Object, ObjectMeta, Pod, PodSpec, PodTemplateSpec, codec, part
from steersman.api.defaults import with_pod_defaults, with_pod_tolerations
from steersman.base import InputError, LruCache
from steersman.base.graph_copy import shared_by_copies
from steersman.cluster.controllers.controller import controller_reference
from steersman.cluster.store import Document, Invalid, Store
from steersman.cluster.store.admission.pod_security import enforce_pod_security
from steersman.cluster.store.server_metadata import name_to_store

MAX_NAME: Final = 253
_MAX_REMEMBERED: Final = 1024
_FNV_OFFSET: Final = 2166136261
_FNV_PRIME: Final = 16777619
_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels and similar digits, so that no words occur."""


@shared_by_copies
class ReadTemplate(NamedTuple):
    """Decoded template: the parts that its pods share."""

    document: dict[str, Any]
    metadata: ObjectMeta
    spec: PodSpec


class PodTemplates:
    """Cache of decoded templates."""

    def __init__(self, store: Store) -> None:
        self._store = store
        #: Keyed by the id of the document, which the entry keeps alive.
        self._known: LruCache[int, ReadTemplate] = LruCache(_MAX_REMEMBERED)

    def read(self, document: dict[str, Any], owner: Object) -> ReadTemplate:
        """Decode an owner's template. Raises `Invalid`."""
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
    """Creator of pods from a template for an owner."""

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
        #: Spec of all documents, with the API server's defaults for pods; computed once per
        #: template.
        self._spec = (
            with_pod_tolerations(with_pod_defaults(template.document.get("spec") or {}))
            if store.keeps_documents
            else {}
        )
        self._document = self.document(self._pod) if store.keeps_documents else None

    def create(self) -> Pod:
        """Create a pod with a generated name."""
        return self._stored(self._pod, self._document)

    def create_as(self, pod: Pod, **fields: Any) -> Pod:
        """Create a modified pod of the template; `fields` override spec fields of the document."""
        return self._stored(pod, self.document(pod, **fields) if self._store.keeps_documents else None)

    def _stored(self, pod: Pod, document: Document | None) -> Pod:
        """Store a pod. Raises `StatusError`, also for errors found by the cluster's host."""
        name, namespace = name_to_store(pod, self._store.version + 1)
        template = self.template.document
        enforce_pod_security(self._store, namespace, name, part(template, "metadata"), part(template, "spec"))
        try:
            return self._store.create(pod, document)
        except InputError as error:
            raise Invalid(Pod, pod.metadata.name or pod.metadata.generate_name, str(error)) from error

    def document(self, pod: Pod, **fields: Any) -> Document:
        """Return the document of a pod of the template."""
        metadata = codec.to_dict(Pod(metadata=pod.metadata))["metadata"]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**self._spec, **fields}}


def without_empty(value: Any) -> Any:
    """Remove nested nulls, empty maps and empty lists, which an API server treats as absent."""
    if isinstance(value, dict):
        kept = {name: without_empty(inner) for name, inner in value.items()}
        return {name: inner for name, inner in kept.items() if inner is not None and inner != {} and inner != []}
    if isinstance(value, list):
        return [without_empty(inner) for inner in value]
    return value


def template_hash(template: dict[str, Any], collisions: int | None) -> str:
    """Return the hash of a template, varied by the collision count."""
    text = msgspec.json.encode(without_empty(template), order="sorted")
    digest = _FNV_OFFSET
    for byte in text + (b"" if collisions is None else collisions.to_bytes(8, "little")):
        digest = (digest ^ byte) * _FNV_PRIME & 0xFFFFFFFF
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(digest))


def name_prefix(owner: str) -> str:
    """Return the name prefix for pods: `web-` of `web`, without the dash at maximum length."""
    return f"{owner}-" if len(owner) < MAX_NAME else owner
