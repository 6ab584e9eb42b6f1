# SPDX-License-Identifier: Apache-2.0
"""Subresources with rules of their own: scale, binding, eviction, tokens, and the mutable parts of
pods.

Those that need a running container are rejected with an explanation.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Final

import msgspec

from steersman.api import schema_of
from steersman.cluster.apiserver import incoming
from steersman.cluster.apiserver.conversions import presented
from steersman.cluster.apiserver.patches import APPLY_PATCH, patched
from steersman.cluster.apiserver.resources import Resource, Subresource
from steersman.cluster.apiserver.reviews import Tokens
from steersman.cluster.apiserver.routing import RequestTarget
from steersman.cluster.apiserver.scale import BUILT_IN_PATHS, ScalePaths, scale_of, scaled
from steersman.cluster.apiserver.statuses import RequestRefused, bad_request, method_not_allowed, not_supported_here
from steersman.cluster.apiserver.write_options import WriteOptions, delete_options
from steersman.cluster.apiserver.writes import Writer
from steersman.cluster.store import Document, Pods, Store, evict
from steersman.cluster.store.pods import NO_TARGET

NEEDS_CONTAINERS: Final = {
    "attach": "attaching to containers",
    "exec": "executing commands in containers",
    "portforward": "forwarding ports to pods",
    "proxy": "reaching pods, services and nodes through the API server",
}
NO_CONTAINERS: Final = "its pods are simulated and run no containers"
_CREATED: Final[Document] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_POD_PARTS: Final = ("ephemeralcontainers", "resize")
_OWN_RULES: Final = (*_POD_PARTS, "scale", "finalize", "approval")

PathsOf = Callable[[Resource], ScalePaths]


class Subresources:
    """Handler of subresources; `paths_of` provides the replica paths of custom resources."""

    def __init__(
        self, store: Store, writer: Writer, tokens: Tokens, paths_of: PathsOf = lambda _: BUILT_IN_PATHS
    ) -> None:
        self._store = store
        self._writer = writer
        self._tokens = tokens
        self._paths_of = paths_of
        self._pods = Pods(store, topology_labels=True)

    def handles(self, about: RequestTarget) -> bool:
        """Return whether this class implements updates and patches of the subresource."""
        name = "" if about.subresource is None else about.subresource.name
        return name in _OWN_RULES or name in NEEDS_CONTAINERS

    # -- reading -----------------------------------------------------------------------------------

    def get(self, about: RequestTarget) -> Document:
        name = self._possible(about)
        document = self._current(about)
        return scale_of(document, self._paths_of(about.resource)) if name == "scale" else document

    # -- creating ----------------------------------------------------------------------------------

    def create(self, about: RequestTarget, document: Document, options: WriteOptions) -> Document:
        """Create a binding, eviction or token."""
        name = "binding" if about.subresource is None else self._possible(about)
        _check_body(about, document)
        if name == "binding":
            return self._bind(about, document, options)
        if name == "eviction":
            return self._evict(about, document, options)
        if name == "token":
            kind = about.resource.stored_as
            assert kind is not None, "service accounts are stored"
            account = self._store.get(kind, about.key)
            return self._tokens.issue(about.namespace or "", about.name, account.metadata.uid, document)
        raise method_not_allowed()

    def _bind(self, about: RequestTarget, binding: Document, options: WriteOptions) -> Document:
        metadata, node = binding.get("metadata") or {}, (binding.get("target") or {}).get("name", "")
        name = about.name or metadata.get("name", "")
        _check_name(about, binding, "Binding")
        kind = (binding.get("target") or {}).get("kind") or ""
        if kind not in ("", "Node"):  # upstream answers 500, as the error is not a Status
            problem = f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"'
            raise RequestRefused(500, "", problem)
        if not node:
            raise RequestRefused(500, "", NO_TARGET)
        with self._store.dry_run() if options.is_dry_run else nullcontext():
            self._pods.bind(about.namespace or "", name, metadata.get("uid", ""), node)
        return _CREATED

    def _evict(self, about: RequestTarget, eviction: Document, write: WriteOptions) -> Document:
        _check_name(about, eviction, "Eviction")
        options = delete_options({}, eviction.get("deleteOptions") or {})
        with self._store.dry_run() if write.is_dry_run or options.is_dry_run else nullcontext():
            evict(self._store, about.key, grace_period_seconds=options.grace_period_seconds, uid=options.uid)
        return _CREATED

    # -- changing ----------------------------------------------------------------------------------

    def update(self, about: RequestTarget, document: Document, options: WriteOptions, warnings: list[str]) -> Document:
        name, current = self._possible(about), self._current(about)
        _check_body(about, document)
        incoming.check_name(about, document.get("metadata") or {}, is_required=True)
        return self._write(about, name, self._changed(about, name, current, document), options, warnings)

    def patch(
        self, about: RequestTarget, content_type: str, patch: Any, options: WriteOptions, warnings: list[str]
    ) -> Document:
        name, current = self._possible(about), self._current(about)
        resource = about.resource
        if name == "scale" and content_type == APPLY_PATCH:
            return self._apply_scale(about, current, patch, options, warnings)
        shown = scale_of(current, self._paths_of(resource)) if name == "scale" else current
        schema = (
            schema_of("autoscaling/v1", "Scale") if name == "scale" else schema_of(resource.api_version, resource.kind)
        )
        document = patched(content_type, shown, patch, schema)
        return self._write(about, name, self._changed(about, name, current, document), options, warnings)

    def _apply_scale(
        self, about: RequestTarget, current: Document, applied: Any, options: WriteOptions, warnings: list[str]
    ) -> Document:
        """Apply a Scale's replicas to the scaled object; managed fields name the subresource."""
        paths = self._paths_of(about.resource)
        sent: Document = applied if isinstance(applied, dict) else {}
        _check_body(about, sent)
        sent = {"metadata": {}, **sent}
        header = {name: current[name] for name in ("apiVersion", "kind")}
        identity = {"name": about.name, "namespace": about.namespace or ""}
        wanted = scaled({**header, "metadata": {**sent["metadata"], **identity}}, sent, paths)
        written, _ = self._writer.patch(about, APPLY_PATCH, wanted, options, warnings)
        return scale_of(written, paths)

    def _write(
        self, about: RequestTarget, name: str, document: Document, options: WriteOptions, warnings: list[str]
    ) -> Document:
        if name == "approval":
            about = msgspec.structs.replace(about, subresource=about.resource.subresource("status"))
        if name in _POD_PARTS:
            options = msgspec.structs.replace(options, rules_of=name)
        written, _ = self._writer.update(about, document, options, warnings)
        return scale_of(written, self._paths_of(about.resource)) if name == "scale" else written

    def _changed(self, about: RequestTarget, name: str, current: Document, document: Document) -> Document:
        """Return the whole object with the changes that the subresource permits."""
        if name == "scale":
            return scaled(current, document, self._paths_of(about.resource))
        metadata = {**current["metadata"], "resourceVersion": _seen(document)}
        spec, sent = current.get("spec") or {}, document.get("spec") or {}
        if name == "ephemeralcontainers":
            spec = {**spec, "ephemeralContainers": sent.get("ephemeralContainers") or []}
        elif name == "resize":
            resized = {name: _resized(spec, sent, name) for name in ("containers", "initContainers") if sent.get(name)}
            spec = {**spec, **resized}
            if "resources" in sent or "resources" in spec:
                spec["resources"] = sent.get("resources")
        elif name == "finalize":
            spec = {**spec, "finalizers": sent.get("finalizers") or []}
        elif name == "approval":
            return {**current, "metadata": metadata, "status": document.get("status") or {}}
        return {**current, "metadata": metadata, "spec": spec}

    # -- inside ------------------------------------------------------------------------------------

    def _possible(self, about: RequestTarget) -> str:
        assert about.subresource is not None, "lookup of a subresource"
        name = about.subresource.name
        if name in NEEDS_CONTAINERS:
            raise not_supported_here(NEEDS_CONTAINERS[name], NO_CONTAINERS)
        return name

    def _current(self, about: RequestTarget) -> Document:
        kind = about.resource.stored_as
        assert kind is not None, "only what is stored has subresources"
        return presented(about.resource, self._store.document(kind, about.key))


def _check_body(about: RequestTarget, document: Document) -> None:
    """Raise 400 if the body is not of the subresource's kind."""
    part = about.subresource or Subresource("binding", "Binding")
    own = f"{part.group}/{part.version}" if part.group else about.resource.api_version
    versions = (own, "policy/v1beta1") if part.kind == "Eviction" else (own,)
    version, kind = document.get("apiVersion") or own, document.get("kind") or part.kind
    if (version, kind) not in [(known, part.kind) for known in versions]:
        incoming.check_kind(Resource(own, "", part.kind), str(version), str(kind))


def _check_name(about: RequestTarget, document: Document, kind: str) -> None:
    name = (document.get("metadata") or {}).get("name")
    if about.name and name and name != about.name:
        raise bad_request(f"name in URL does not match name in {kind} object")


def _seen(document: Document) -> str:
    return str((document.get("metadata") or {}).get("resourceVersion") or "")


def _resized(spec: Document, sent: Document, name: str) -> list[Document]:
    """Return the containers with the sent resources and resize policies.

    If containers were added, removed, renamed or reordered, the sent ones are returned, for
    validation to reject.
    """
    containers, others = spec.get(name) or [], sent[name]
    if [container.get("name") for container in containers] != [other.get("name") for other in others]:
        return list(others)
    return [
        {**container, **{field: other.get(field) for field in ("resources", "resizePolicy") if field in other}}
        for container, other in zip(containers, others, strict=True)
    ]
