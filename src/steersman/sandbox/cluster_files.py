# SPDX-License-Identifier: Apache-2.0
"""A whole cluster as one file, and back: manifests, or the snapshot of kube-scheduler-simulator; and the cluster as it began.

Objects travel with uid, times and status, so that pods stay where they are and owners find what they own. What every sandbox
has by itself, and what passes (events, leases), is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import yaml

from steersman import api
from steersman.api import codec, yaml_documents
from steersman.api.documents import SourcePlace, find_objects
from steersman.apiserver.catalog import Catalog
from steersman.embedded import Document, NotFound, Store
from steersman.errors import InputError
from steersman.observe import in_slices
from steersman.sandbox.default_objects import NAMESPACES, ROOT_CA
from steersman.sandbox.manifest_files import FoundDocument, create_document, in_order
from steersman.web.answers import InputProblem, WebPart, problem_of

PASSING: Final = frozenset(("Event", "Lease", "ControllerRevision", "EndpointSlice", "Endpoints"))
"""Kinds of objects that others make again."""
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
"""The scheduler's configuration in such a snapshot, of which the simulator uses the profiles."""
IMPORTED: Final = "import"
_PASSES: Final = 5
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class ImportResult(WebPart, frozen=True):
    """The outcome of an import. One bad object does not stop the others."""

    created: int
    updated: int
    problems: list[InputProblem]
    #: The scheduler has the configuration of the file.
    configured: bool = False


class ImportedCluster(NamedTuple):
    """The objects of a file, and the scheduler's configuration as YAML; "": there is none."""

    documents: list[FoundDocument]
    configuration: str


class ClusterFiles:
    """Objects, import, export and reset of one sandbox. Remembers the cluster as it began."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._beginning = list(self._documents())

    # -- out ---------------------------------------------------------------------------------------------------------

    async def exported(self, chosen: str, configuration: Document) -> tuple[bytes, str]:
        """The file, and a name for it. A snapshot holds the scheduler's configuration as well."""
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
        """All objects that are the user's, in an order in which they can be created."""
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
        """The objects of a file, and its configuration; raises `InputError` if it is none."""
        snapshot = _snapshot(body) if chosen == "simulator" else None
        documents = in_order(_in_manifests(body) if snapshot is None else _in_snapshot(snapshot))
        configuration = "" if snapshot is None else _profiles(snapshot.get(SNAPSHOT_CONFIGURATION))
        if not documents and not configuration:
            raise InputError("holds no objects", file=IMPORTED)
        return ImportedCluster(documents, configuration)

    async def stored(self, documents: list[FoundDocument]) -> ImportResult:
        """Creates what is not there; what is there is written anew."""
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
        """Back to the objects of the beginning; how many were deleted."""
        deleted = await self.empty()
        await self.stored([FoundDocument(document, SourcePlace(IMPORTED, 1)) for document in self._beginning])
        return deleted

    async def empty(self) -> int:
        """Deletes all that is the user's, at once; how many objects. Controllers may make some again meanwhile."""
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
        """Workloads before what they would make again, nodes last."""
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
    """Whether every sandbox has the object by itself."""
    kind, meta = str(document["kind"]), document["metadata"]
    name, namespace = str(meta["name"]), str(meta.get("namespace", ""))
    if kind == "Namespace":
        return name in NAMESPACES
    if namespace in ("kube-system", "kube-public", "kube-node-lease") or name == ROOT_CA:
        return kind != "Pod"
    defaults = (("ServiceAccount", "default"), ("Service", "kubernetes"), ("StorageClass", "standard"))
    return (kind, name) in defaults or (kind == "PriorityClass" and name.startswith("system-"))


def _in_manifests(body: bytes) -> Iterator[FoundDocument]:
    for found in find_objects(IMPORTED, body, is_json=False):
        plain = found.data if isinstance(found.data, dict) else codec.plain(found.data)
        header = {"apiVersion": found.header.api_version, "kind": found.header.kind}
        yield FoundDocument({**plain, **header}, found.place)


def _snapshot(body: bytes) -> Document:
    """The export of a kube-scheduler-simulator: its server writes JSON, its page YAML."""
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
        raise InputError("is no snapshot", file=IMPORTED, hint=f"a snapshot is one object with {known}")
    return found[0]


def _profiles(configuration: object) -> str:
    """A configuration with the profiles of a snapshot's; "" where it has none."""
    if configuration is None:
        return ""
    if not isinstance(configuration, dict):
        raise InputError("is no object", file=IMPORTED, field=SNAPSHOT_CONFIGURATION)
    header = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    profiles = configuration.get("profiles")
    return _yaml({**header, "profiles": profiles}) if profiles else ""


def _in_snapshot(snapshot: Document) -> Iterator[FoundDocument]:
    for name, (api_version, kind) in SNAPSHOT_LISTS.items():
        items = snapshot.get(name) or []
        if not isinstance(items, list):
            raise InputError("is no list", file=IMPORTED, field=name)
        for number, item in enumerate(items, 1):
            if not isinstance(item, dict):
                raise InputError("is no object", file=IMPORTED, field=f"{name}[{number - 1}]")
            yield FoundDocument({**item, "apiVersion": api_version, "kind": kind}, SourcePlace(IMPORTED, 1, number))


def _written(document: Document) -> Document:
    """The document as a user would write it, without what only the server knows."""
    dropped = ("managedFields", "resourceVersion", "selfLink")
    meta = {name: value for name, value in document["metadata"].items() if name not in dropped}
    return {**document, "metadata": meta}


def _yaml(document: Document) -> str:
    text: str = yaml.dump(document, Dumper=_DUMPER, sort_keys=False, allow_unicode=True)
    return text


def _key(document: Document, namespaced: bool) -> str:
    meta = document["metadata"]
    return f"{meta.get('namespace') or 'default'}/{meta['name']}" if namespaced else str(meta["name"])
