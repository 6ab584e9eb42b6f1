# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions: serves their resources and withdraws them after deletion.

Replaces upstream's controllers for names, establishing and finalizing, without delay: a definition
is established on creation unless its names conflict. When a definition is deleted, its objects are
deleted first. Versions differ only in name; conversion webhooks are not called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from steersman import api
from steersman.api import Object, elements, part
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.resources import SCALE, Resource, Subresource, status_of, storage_class
from steersman.cluster.apiserver.scale import BUILT_IN_PATHS, ScalePaths
from steersman.cluster.store import Document, EventType, StatusError, Store, delete
from steersman.cluster.store.documents import typed
from steersman.cluster.store.finalizers import CLEANUP

Definition: Final = api.custom_kind(
    "apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)
NO_CONFLICTS: Final = "no conflicts found"
_replace = msgspec.structs.replace


class CustomVersion(msgspec.Struct, frozen=True):
    """A version of a custom resource. `schema` is its openAPIV3Schema or {}. If `is_changed`,
    objects may have been stored under an earlier schema."""

    schema: Document = {}
    printer_columns: tuple[Document, ...] = ()
    selectable_fields: tuple[str, ...] = ()
    has_status: bool = False
    scale_paths: ScalePaths | None = None
    is_changed: bool = False


class CustomResources:
    """Keeps the catalog in sync with the CustomResourceDefinitions in the store."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._versions: dict[tuple[str, str], CustomVersion] = {}
        #: Definition name → class of the stored objects.
        self._kinds: dict[str, type[Object]] = {}
        store.subscribe(self._on_definition, (Definition,))

    def version(self, resource: Resource) -> CustomVersion:
        """Return the version of a custom resource; an empty one for a built-in resource."""
        return self._versions.get((resource.api_version, resource.plural), _NOTHING)

    def definitions(self) -> list[Document]:
        """Return the definitions whose resources are served."""
        documents = self._store.documents(Definition)
        return [documents[name] for name in self._kinds if name in documents]

    def scale_paths(self, resource: Resource) -> ScalePaths:
        return self.version(resource).scale_paths or BUILT_IN_PATHS

    # -- inside ------------------------------------------------------------------------------------

    def _on_definition(self, _: EventType, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._withdraw(old.metadata.name)
            return
        name = new.metadata.name
        document = self._store.document(Definition, name)
        spec = document.get("spec") or {}
        if new.metadata.deletion_timestamp is not None:
            self._empty(name)
            return
        conflict = self._conflict(name, spec)
        if not conflict:
            self._serve(name, spec, is_changed=(document["metadata"].get("generation") or 1) > 1)
        self._write_status(name, document, conflict)

    def _serve(self, name: str, spec: Document, *, is_changed: bool) -> None:
        kind = self._stored_kind(spec)
        served = [version for version in spec.get("versions") or () if version.get("served")]
        resources = []
        for version in _preferred_first(served):
            about = _replace(custom_version(version), is_changed=is_changed)
            resource = _resource(spec, version["name"], kind, about)
            self._versions[resource.api_version, resource.plural] = about
            resources.append(resource)
        if name not in self._kinds:
            self._kinds[name] = kind
            self._store.subscribe(self._on_instance(name), (kind,))
        self._catalog.serve(name, resources)

    def _stored_kind(self, spec: Document) -> type[Object]:
        group, names = spec.get("group", ""), spec.get("names") or {}
        known = storage_class(group, names.get("kind", ""), self._catalog.declared)
        if known is not None:
            return known
        storage = next((one["name"] for one in spec.get("versions") or () if one.get("storage")), "v1")
        namespaced = spec.get("scope") == "Namespaced"
        return api.custom_kind(f"{group}/{storage}", names.get("kind", ""), names["plural"], namespaced=namespaced)

    def _withdraw(self, name: str) -> None:
        self._catalog.withdraw(name)
        self._kinds.pop(name, None)

    def _conflict(self, name: str, spec: Document) -> str:
        """Return the name conflict that prevents acceptance, or ""."""
        group, names = spec.get("group", ""), spec.get("names") or {}
        wanted = {names.get("plural"), names.get("singular"), *(names.get("shortNames") or ())} - {None, ""}
        for other, definition in self._store.documents(Definition).items():
            theirs = definition.get("spec") or {}
            if other == name or theirs.get("group") != group:
                continue
            accepted = (definition.get("status") or {}).get("acceptedNames") or {}
            used = {accepted.get("plural"), accepted.get("singular"), *(accepted.get("shortNames") or ())} - {None, ""}
            if wanted & used:
                return f'"{min(wanted & used)}" is already in use'
            if names.get("kind") == accepted.get("kind"):
                return f'"{names.get("kind")}" is already in use'
        return ""

    def _write_status(self, name: str, document: Document, conflict: str) -> None:
        before = document.get("status") or {}
        spec, now = document.get("spec") or {}, self._store.timestamp()
        storage = [one["name"] for one in spec.get("versions") or () if one.get("storage")]
        stored = list(dict.fromkeys((*(before.get("storedVersions") or ()), *storage)))
        status = {
            "conditions": _conditions(before.get("conditions") or (), conflict, now),
            "acceptedNames": before.get("acceptedNames") or {"plural": "", "kind": ""} if conflict else spec["names"],
            "storedVersions": stored,
        }
        changed = {**document, "status": status}
        if changed != document:
            self._store.rewrite(self._store.get(Definition, name), typed(changed, Definition), changed)

    # -- deletion ----------------------------------------------------------------------------------

    def _on_instance(self, name: str) -> Any:
        def look(_: EventType, __: Object | None, new: Object | None) -> None:
            if new is None:
                self._release(name)

        return look

    def _empty(self, name: str) -> None:
        """Delete all objects of a terminating definition."""
        kind = self._kinds.get(name)
        for key in [] if kind is None else list(self._store.objects(kind)):
            try:
                delete(self._store, kind, key)  # type: ignore[arg-type]  # there are keys only of a kind
            except StatusError:
                continue  # already deleted, or delayed by a finalizer
        self._release(name)

    def _release(self, name: str) -> None:
        """Remove the cleanup finalizer of a terminating definition once it has no objects."""
        definition, kind = self._store.find(Definition, name), self._kinds.get(name)
        if definition is None or definition.metadata.deletion_timestamp is None:
            return
        if kind is not None and self._store.objects(kind):
            return
        left = tuple(finalizer for finalizer in definition.metadata.finalizers if finalizer != CLEANUP)
        if left != definition.metadata.finalizers:
            self._store.update(_replace(definition, metadata=_replace(definition.metadata, finalizers=left)))


_NOTHING: Final = CustomVersion()


def custom_version(version: Mapping[str, Any]) -> CustomVersion:
    """Parse an entry of `spec.versions`."""
    parts = version.get("subresources") or {}
    scale = parts.get("scale")
    paths = None
    if scale is not None:
        selector = scale.get("labelSelectorPath", "")
        paths = ScalePaths(scale.get("specReplicasPath", ""), scale.get("statusReplicasPath", ""), selector)
    fields = (entry.get("jsonPath", "").lstrip(".") for entry in version.get("selectableFields") or ())
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return CustomVersion(
        schema,
        tuple(version.get("additionalPrinterColumns") or ()),
        tuple(fields),
        "status" in parts,
        paths,
    )


def with_definition_defaults(document: Document) -> Document:
    """Return the definition with server-side defaults."""
    spec = dict(document.get("spec") or {})
    names = dict(spec.get("names") or {})
    kind = str(names.get("kind", ""))
    names = {**names, "singular": names.get("singular") or kind.lower()}
    if kind and not names.get("listKind"):
        names["listKind"] = f"{kind}List"
    stored = [version.get("name") for version in elements(spec, "versions") if version.get("storage")]
    status = {**({"storedVersions": stored} if stored else {}), **part(document, "status")}
    return {**document, "spec": {"conversion": {"strategy": "None"}, **spec, "names": names}, "status": status}


def _resource(spec: Document, version: str, kind: type[Object], about: CustomVersion) -> Resource:
    names = spec["names"]
    parts: list[Subresource] = []
    if about.has_status:
        parts.append(status_of(names["kind"]))
    if about.scale_paths is not None:
        parts.append(SCALE)
    return Resource(
        api_version=f"{spec['group']}/{version}",
        plural=names["plural"],
        kind=names["kind"],
        namespaced=spec.get("scope") == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(parts),
        stored_as=kind,
        singular_name=names.get("singular", ""),
        list_kind_name=names.get("listKind", ""),
    )


def _preferred_first(versions: list[Any]) -> list[Any]:
    """Sort versions as Kubernetes does: GA before beta before alpha, latest first."""

    def rank(version: Any) -> tuple[int, int, int]:
        text = str(version["name"])
        if not text.startswith("v") or not text[1:2].isdigit():
            return (0, 0, 0)
        major, _, rest = text[1:].partition("beta") if "beta" in text else text[1:].partition("alpha")
        level = 3 if not rest and "a" not in text else 2 if "beta" in text else 1
        return (level, int(major or 0) if major.isdigit() else 0, int(rest) if rest.isdigit() else 0)

    return sorted(versions, key=rank, reverse=True)


def _conditions(before: Iterable[Document], conflict: str, now: str) -> list[Document]:
    accepted = ("False", "NameConflict", conflict) if conflict else ("True", "NoConflicts", NO_CONFLICTS)
    established = ("False", "NotAccepted", "not all names are accepted")
    if not conflict:
        established = ("True", "InitialNamesAccepted", "the initial names have been accepted")
    known = {condition.get("type"): condition for condition in before}
    result = []
    for kind, (status, reason, message) in (("NamesAccepted", accepted), ("Established", established)):
        old = known.get(kind) or {}
        since = old.get("lastTransitionTime", now) if old.get("status") == status else now
        fields = {"type": kind, "status": status, "lastTransitionTime": since}
        result.append({**fields, "reason": reason, "message": message})
        known.pop(kind, None)
    return [*result, *known.values()]
