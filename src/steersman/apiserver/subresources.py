# SPDX-License-Identifier: Apache-2.0
"""Subresources with rules of their own: scale, binding, eviction, tokens, and the parts of a pod that may change later.

Those that would need a running container are refused with a sentence that says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api.schemas import schema_of
from steersman.apiserver.conversions import presented
from steersman.apiserver.patches import patched
from steersman.apiserver.resources import Resource
from steersman.apiserver.reviews import Tokens
from steersman.apiserver.routing import RequestTarget
from steersman.apiserver.scale import BUILT_IN_PATHS, ScalePaths, scale_of, scaled
from steersman.apiserver.statuses import bad_request, method_not_allowed, not_supported_here, success
from steersman.apiserver.write_options import WriteOptions, delete_options
from steersman.apiserver.writes import Writer
from steersman.embedded import Document, NotFound, Pods, Store, evict

NEEDS_CONTAINERS: Final = {
    "attach": "attaching to containers",
    "exec": "executing commands in containers",
    "log": "reading logs of containers",
    "portforward": "forwarding ports to pods",
    "proxy": "reaching pods, services and nodes through the API server",
}
NO_CONTAINERS: Final = "its pods are simulated and run no containers"
_POD_PARTS: Final = ("ephemeralcontainers", "resize")
_OWN_RULES: Final = (*_POD_PARTS, "scale", "finalize", "approval")

PathsOf = Callable[[Resource], ScalePaths]


class Subresources:
    """Reads and writes subresources; `paths_of` says where custom resources have their replicas."""

    def __init__(
        self, store: Store, writer: Writer, tokens: Tokens, paths_of: PathsOf = lambda _: BUILT_IN_PATHS
    ) -> None:
        self._store = store
        self._writer = writer
        self._tokens = tokens
        self._paths_of = paths_of
        self._pods = Pods(store, topology_labels=True)

    def handles(self, about: RequestTarget) -> bool:
        """Whether updates and patches of this subresource are carried out here."""
        name = "" if about.subresource is None else about.subresource.name
        return name in _OWN_RULES or name in NEEDS_CONTAINERS

    # -- reading -----------------------------------------------------------------------------------------------------

    def get(self, about: RequestTarget) -> Document:
        name = self._possible(about)
        document = self._current(about)
        return scale_of(document, self._paths_of(about.resource)) if name == "scale" else document

    # -- creating ----------------------------------------------------------------------------------------------------

    def create(self, about: RequestTarget, document: Document, options: WriteOptions) -> Document:
        """Bindings, evictions and tokens."""
        name = "binding" if about.subresource is None else self._possible(about)
        if name == "binding":
            return self._bind(about, document, options)
        if name == "eviction":
            return self._evict(about, document)
        if name == "token":
            kind = about.resource.stored_as
            assert kind is not None, "service accounts are stored"
            account = self._store.get(kind, about.key)
            return self._tokens.issue(about.namespace or "", about.name, account.metadata.uid, document)
        raise method_not_allowed()

    def _bind(self, about: RequestTarget, binding: Document, options: WriteOptions) -> Document:
        metadata, node = binding.get("metadata") or {}, (binding.get("target") or {}).get("name", "")
        name = about.name or metadata.get("name", "")
        if metadata.get("name") and metadata["name"] != name:
            raise bad_request(f"name in URL does not match name in Binding object: {metadata['name']}")
        bind = self._pods.bind
        if options.is_dry_run:
            with self._store.dry_run():
                bind(about.namespace or "", name, metadata.get("uid", ""), node)
        else:
            bind(about.namespace or "", name, metadata.get("uid", ""), node)
        return success({})

    def _evict(self, about: RequestTarget, eviction: Document) -> Document:
        options = delete_options(about.resource, {}, eviction.get("deleteOptions") or {})
        if not options.is_dry_run:
            evict(self._store, about.key, grace_period_seconds=options.grace_period_seconds, uid=options.uid)
        elif self._store.find(api.Pod, about.key) is None:
            raise NotFound(api.Pod, about.key)
        return success({})

    # -- changing ----------------------------------------------------------------------------------------------------

    def update(self, about: RequestTarget, document: Document, options: WriteOptions, warnings: list[str]) -> Document:
        name, current = self._possible(about), self._current(about)
        return self._write(about, name, self._changed(about, name, current, document), options, warnings)

    def patch(
        self, about: RequestTarget, content_type: str, patch: Any, options: WriteOptions, warnings: list[str]
    ) -> Document:
        name, current = self._possible(about), self._current(about)
        resource = about.resource
        shown = scale_of(current, self._paths_of(resource)) if name == "scale" else current
        schema = (
            schema_of("autoscaling/v1", "Scale") if name == "scale" else schema_of(resource.api_version, resource.kind)
        )
        document = patched(content_type, shown, patch, schema)
        return self._write(about, name, self._changed(about, name, current, document), options, warnings)

    def _write(
        self, about: RequestTarget, name: str, document: Document, options: WriteOptions, warnings: list[str]
    ) -> Document:
        whole = RequestTarget(about.resource, about.namespace, about.name)
        if name == "approval":
            whole = RequestTarget(about.resource, about.namespace, about.name, about.resource.subresource("status"))
        if name in _POD_PARTS:
            options = msgspec.structs.replace(options, checks_immutable_fields=False)
        written, _ = self._writer.update(whole, document, options, warnings)
        return scale_of(written, self._paths_of(about.resource)) if name == "scale" else written

    def _changed(self, about: RequestTarget, name: str, current: Document, document: Document) -> Document:
        """The whole object with what the subresource may change."""
        if name == "scale":
            return scaled(current, document, self._paths_of(about.resource))
        metadata = {**current["metadata"], "resourceVersion": _seen(document)}
        spec, sent = current.get("spec") or {}, document.get("spec") or {}
        if name == "ephemeralcontainers":
            spec = {**spec, "ephemeralContainers": sent.get("ephemeralContainers") or []}
        elif name == "resize":
            spec = {**spec, "containers": _resized(spec, sent, "containers")}
            if "initContainers" in spec:
                spec["initContainers"] = _resized(spec, sent, "initContainers")
        elif name == "finalize":
            spec = {**spec, "finalizers": sent.get("finalizers") or []}
        elif name == "approval":
            return {**current, "metadata": metadata, "status": document.get("status") or {}}
        return {**current, "metadata": metadata, "spec": spec}

    # -- inside ------------------------------------------------------------------------------------------------------

    def _possible(self, about: RequestTarget) -> str:
        assert about.subresource is not None, "asked about a subresource"
        name = about.subresource.name
        if name in NEEDS_CONTAINERS:
            raise not_supported_here(NEEDS_CONTAINERS[name], NO_CONTAINERS)
        return name

    def _current(self, about: RequestTarget) -> Document:
        kind = about.resource.stored_as
        assert kind is not None, "only what is stored has subresources"
        return presented(about.resource, self._store.document(kind, about.key))


def _seen(document: Document) -> str:
    return str((document.get("metadata") or {}).get("resourceVersion") or "")


def _resized(spec: Document, sent: Document, part: str) -> list[Document]:
    """The containers with the resources, and the policies for changing them, that were sent for those of the same name."""
    wanted = {container.get("name"): container for container in sent.get(part) or ()}
    result = []
    for container in spec.get(part) or ():
        new = wanted.get(container.get("name"), container)
        changed = {name: new[name] for name in ("resources", "resizePolicy") if name in new}
        result.append({**container, **changed})
    return result
