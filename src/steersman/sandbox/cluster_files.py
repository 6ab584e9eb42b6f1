# SPDX-License-Identifier: Apache-2.0
"""Import, export and reset of a cluster: manifests, or a kube-scheduler-simulator snapshot.

Objects include uid, times and status, so that placements and owner references stay valid. Default
objects of a sandbox and transient ones (events, leases) are omitted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from steersman import api
from steersman.api import SourcePlace, codec, find_objects, yaml_documents
from steersman.base import InputError
from steersman.cluster.apiserver import Catalog
from steersman.cluster.store import Document, NotFound, Store
from steersman.kube.observe import in_slices
from steersman.sandbox.default_objects import NAMESPACES, ROOT_CA
from steersman.sandbox.default_roles import BOOTSTRAPPING
from steersman.sandbox.manifest_files import FoundDocument, create_document, in_order
from steersman.sandbox.web.answers import InputProblem, WebPart, problem_of

PASSING: Final = frozenset(("Event", "Lease", "ControllerRevision", "EndpointSlice", "Endpoints"))
"""Kinds of objects that controllers recreate."""
SNAPSHOT_LISTS: Final = {
    "pods": ("v1", "Pod"),
    "nodes": ("v1", "Node"),
    "pvs": ("v1", "PersistentVolume"),
    "pvcs": ("v1", "PersistentVolumeClaim"),
    "storageClasses": ("storage.k8s.io/v1", "StorageClass"),
    "priorityClasses": ("scheduling.k8s.io/v1", "PriorityClass"),
    "namespaces": ("v1", "Namespace"),
}
"""The lists of a snapshot of kube-scheduler-simulator, with the kind of their items."""
SNAPSHOT_CONFIGURATION: Final = "schedulerConfig"
"""Field of such a snapshot with the scheduler's configuration; the simulator uses its profiles."""
IMPORTED: Final = "import"
_PASSES: Final = 5
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class ImportResult(WebPart, frozen=True):
    """Outcome of an import. An invalid object does not stop the import of other objects."""

    created: int
    updated: int
    problems: list[InputProblem]
    #: Whether the scheduler has the configuration of the file.
    configured: bool = False


class ImportedCluster(NamedTuple):
    """Objects of a file, and the scheduler's configuration as YAML, "" if none."""

    documents: list[FoundDocument]
    configuration: str


class ClusterFiles:
    """Import, export and reset of one sandbox. Has the initial objects of the cluster."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._beginning = list(self._documents())

    # -- out ---------------------------------------------------------------------------------------------------------

    async def exported(self, chosen: str, configuration: Document) -> tuple[bytes, str]:
        """Return the file and its name. A snapshot includes the scheduler's configuration."""
        documents = [_written(document) for document in self._documents()]
        if chosen == "manifests":
            text = await in_slices(_yaml(document) for document in documents)
            return "---\n".join(text).encode(), "cluster.yaml"
        lists: dict[str, list[Document]] = {
            name: [document for document in documents if (document["apiVersion"], document["kind"]) == header]
            for name, header in SNAPSHOT_LISTS.items()
        }
        return msgspec.json.encode({**lists, SNAPSHOT_CONFIGURATION: configuration}), "snapshot.json"

    def _documents(self) -> Iterator[Document]:
        """Return the user's objects in an order in which they can be created."""
        found = (
            document
            for kind in self._store.kinds
            if kind.KIND not in PASSING
            for document in self._store.documents(kind).values()
        )
        users = (FoundDocument(document, SourcePlace("", 1)) for document in found if not is_default(document))
        return (one.document for one in in_order(users))

    # -- in ----------------------------------------------------------------------------------------------------------

    def read(self, body: bytes, chosen: str) -> ImportedCluster:
        """Return the objects and configuration of a file. Raise `InputError` if invalid."""
        snapshot = _snapshot(body) if chosen == "simulator" else None
        documents = in_order(_in_manifests(body) if snapshot is None else _in_snapshot(snapshot))
        configuration = "" if snapshot is None else _profiles(snapshot.get(SNAPSHOT_CONFIGURATION))
        if not documents and not configuration:
            raise InputError("holds no objects", file=IMPORTED)
        return ImportedCluster(documents, configuration)

    async def stored(self, documents: list[FoundDocument]) -> ImportResult:
        """Create missing objects, and overwrite existing ones."""
        counts, problems = {"created": 0, "updated": 0}, list[InputProblem]()
        for number, one in enumerate(documents):
            try:
                counts[self._store_one(one)] += 1
            except InputError as error:
                problems.append(problem_of(error))
            if not number % 50:
                await asyncio.sleep(0)
        return ImportResult(counts["created"], counts["updated"], problems)

    def _store_one(self, found: FoundDocument) -> str:
        if create_document(self._store, self._catalog, found):
            return "created"
        document = found.document
        resource = self._catalog.of_kind(str(document["apiVersion"]), str(document["kind"]))
        kind = None if resource is None else resource.stored_as
        assert resource is not None, "what is there already has a resource"
        assert kind is not None, "and is stored"
        self._store.delete(kind, _key(document, resource.namespaced), finalizers=())
        create_document(self._store, self._catalog, found)
        return "updated"

    # -- as it began -------------------------------------------------------------------------------------------------

    async def reset(self) -> int:
        """Restore the initial objects; return the number of deleted objects."""
        deleted = await self.empty()
        await self.stored([FoundDocument(document, SourcePlace(IMPORTED, 1)) for document in self._beginning])
        return deleted

    async def empty(self) -> int:
        """Delete the user's objects, and recreated ones; return their number."""
        deleted = 0
        for _ in range(_PASSES):
            found = [(type_, key) for type_, key in self._users()]
            for number, (kind, key) in enumerate(found):
                deleted += self._delete(kind, key)
                if not number % 50:
                    await asyncio.sleep(0)
            if not found:
                break
        return deleted

    def _users(self) -> Iterator[tuple[type[api.Object], str]]:
        """Yield the user's objects, workloads before the objects that they would recreate, nodes
        last."""
        kinds = sorted(self._store.kinds, key=lambda kind: _DELETED_LATE.get(kind.KIND, 0))
        for kind in kinds:
            for key, document in list(self._store.documents(kind).items()):
                if not is_default(document):
                    yield kind, key

    def _delete(self, kind: type[api.Object], key: str) -> int:
        try:
            self._store.delete(kind, key, finalizers=())
        except NotFound:
            return 0
        return 1


_DELETED_LATE: Final = {"Pod": 1, "Node": 2, "CustomResourceDefinition": 3, "Namespace": 4}


def is_default(document: Document) -> bool:
    """Return whether the object is a default object of every sandbox."""
    kind, meta = str(document["kind"]), document["metadata"]
    name, namespace = str(meta["name"]), str(meta.get("namespace", ""))
    if kind == "Namespace":
        return name in NAMESPACES
    if namespace in ("kube-system", "kube-public", "kube-node-lease") or name == ROOT_CA:
        return kind != "Pod"
    if kind in ("Endpoints", "EndpointSlice"):
        return name == "kubernetes" or any(label.endswith("/managed-by") for label in meta.get("labels") or ())
    if kind in ("ClusterRole", "ClusterRoleBinding"):
        return BOOTSTRAPPING in (meta.get("labels") or {}).items()
    defaults = (("ServiceAccount", "default"), ("Service", "kubernetes"), ("StorageClass", "standard"))
    return (kind, name) in defaults or (kind == "PriorityClass" and name.startswith("system-"))


def _in_manifests(body: bytes) -> Iterator[FoundDocument]:
    for found in find_objects(IMPORTED, body, is_json=False):
        plain = found.data if isinstance(found.data, dict) else codec.plain(found.data)
        header = {"apiVersion": found.header.api_version, "kind": found.header.kind}
        yield FoundDocument({**plain, **header}, found.place)


def _snapshot(body: bytes) -> Document:
    """Return the export of a kube-scheduler-simulator: its server writes JSON, its page YAML."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8 text", file=IMPORTED) from error
    try:
        found = list(yaml_documents.documents(text))
    except InputError as error:
        raise InputError(error.message, file=IMPORTED, line=error.line) from error
    if len(found) != 1 or not isinstance(found[0], dict):
        known = ", ".join((*SNAPSHOT_LISTS, SNAPSHOT_CONFIGURATION))
        raise InputError("is not a snapshot", file=IMPORTED, hint=f"a snapshot is one object with {known}")
    return found[0]


def _profiles(configuration: object) -> str:
    """Return a configuration with the profiles of a snapshot's; "" where it has none."""
    if configuration is None:
        return ""
    if not isinstance(configuration, dict):
        raise InputError("is not an object", file=IMPORTED, field=SNAPSHOT_CONFIGURATION)
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    profiles = configuration.get("profiles")
    return _yaml({**header, "profiles": profiles}) if profiles else ""


def _in_snapshot(snapshot: Document) -> Iterator[FoundDocument]:
    for name, (api_version, kind) in SNAPSHOT_LISTS.items():
        items = snapshot.get(name) or []
        if not isinstance(items, list):
            raise InputError("is not a list", file=IMPORTED, field=name)
        for number, item in enumerate(items, 1):
            if not isinstance(item, dict):
                raise InputError("is not an object", file=IMPORTED, field=f"{name}[{number - 1}]")
            yield FoundDocument({**item, "apiVersion": api_version, "kind": kind}, SourcePlace(IMPORTED, 1, number))


def _written(document: Document) -> Document:
    """Return the document without fields that only the server sets."""
    dropped = ("managedFields", "resourceVersion", "selfLink")
    meta = {name: value for name, value in document["metadata"].items() if name not in dropped}
    return {**document, "metadata": meta}


def _yaml(document: Document) -> str:
    text: str = yaml.dump(document, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
    return text


def _key(document: Document, namespaced: bool) -> str:
    meta = document["metadata"]
    return f"{meta.get('namespace') or 'default'}/{meta['name']}" if namespaced else str(meta["name"])
