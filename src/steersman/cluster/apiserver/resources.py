# SPDX-License-Identifier: Apache-2.0
"""Built-in resources: all that a kube-apiserver v1.36 serves by default, as in its discovery, and
those that v1.37 serves with a feature gate.

`resources.json` declares them; `catalog` serves them together with custom resources. A resource
names the class under which the store holds its objects: the struct of `steersman.api` if it exists,
else a class without fields, whose objects are only documents. Versions of a resource share the
class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from steersman import api

ALL_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
READ_AND_WRITE: Final = ("get", "patch", "update")
METRICS_GROUP: Final = "metrics.k8s.io"


class Subresource(msgspec.Struct, frozen=True):
    """Subresource; `group` and `version` are set if they differ from the resource's."""

    name: str
    kind: str
    verbs: tuple[str, ...] = READ_AND_WRITE
    group: str = ""
    version: str = ""


class DeclaredResource(msgspec.Struct, frozen=True):
    """Attributes of a resource in `resources.json`."""

    api_version: str = ""
    plural: str = ""
    kind: str = ""
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    singular_name: str = ""
    #: Fields for field selectors, besides name and namespace.
    selectable_fields: tuple[str, ...] = ()
    #: Whether new objects have a generation, for kinds without a struct in the store.
    counts_generation: bool = False
    #: Feature gate without which the resource is not served; "" for others.
    gate: str = ""


class Resource(DeclaredResource, frozen=True):
    """A version of a resource. `stored_as` is None for unstored ones, such as reviews."""

    stored_as: type[api.Object] | None = None
    list_kind_name: str = ""

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        return self.api_version.rpartition("/")[2]

    @property
    def singular(self) -> str:
        return self.singular_name or self.kind.lower()

    @property
    def list_kind(self) -> str:
        return self.list_kind_name or f"{self.kind}List"

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)

    @property
    def is_stored_elsewhere(self) -> bool:
        """Whether objects are stored in another version."""
        return self.stored_as is not None and self.api_version != self.stored_as.API_VERSION


def status_of(kind: str) -> Subresource:
    return Subresource("status", kind)


SCALE: Final = Subresource("scale", "Scale", group="autoscaling", version="v1")

_STORED_VERSIONS: Final = {
    "events": "v1",
    "horizontalpodautoscalers": "autoscaling/v2",
    "podgroups": "scheduling.k8s.io/v1beta1",
    "workloads": "scheduling.k8s.io/v1beta1",
}
"""Storage versions of resources with several versions."""


def storage_class(group: str, kind: str, declared: Iterable[type[api.Object]] = ()) -> type[api.Object] | None:
    """Return the struct of a kind: declared by a plugin, or of `steersman.api`; None if there is
    none."""
    for known in (*declared, api.KINDS.get(kind)):
        if known is not None and kind == known.KIND and known.API_VERSION.rpartition("/")[0] == group:
            return known
    return None


def _built_in(table: str) -> Iterator[Resource]:
    rows = msgspec.convert(_TABLES[table], dict[str, dict[str, DeclaredResource]])
    for api_version, resources in rows.items():
        for plural, row in resources.items():
            attributes = {**msgspec.structs.asdict(row), "api_version": api_version, "plural": plural}
            yield _stored(Resource(**attributes))


def _stored(resource: Resource) -> Resource:
    """Return the resource with the class of its stored objects, if it is stored."""
    if "create" not in resource.verbs or "list" not in resource.verbs:
        return resource
    version = _STORED_VERSIONS.get(resource.plural, resource.api_version)
    known = storage_class(version.rpartition("/")[0], resource.kind)
    if known is None:
        known = api.custom_kind(version, resource.kind, resource.plural, namespaced=resource.namespaced)
    return msgspec.structs.replace(resource, stored_as=known)


_TABLES: Final = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes())
BUILT_IN: Final = tuple(_built_in("resources"))
"""All built-in resources."""
GATED: Final = tuple(_built_in("gated"))
"""Resources that are served only with their feature gate; a server with composite groups serves
v1alpha3."""
GATED_SINCE: Final = (1, 37)
"""The first minor version that serves resources of pod groups."""
GROUPS: Final = tuple((group, tuple(versions)) for group, versions in _TABLES["groups"].items())
"""Non-core groups in discovery order, and their versions, preferred version first."""
