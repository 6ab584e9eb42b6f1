# SPDX-License-Identifier: Apache-2.0
"""Resources that are currently served: built-in ones and those of established
CustomResourceDefinitions.

`discovery` lists the catalog, `routing` looks up resources, `custom_resources` adds and removes
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from steersman import api
from steersman.base import KUBE_SCHEDULER_RELEASES
from steersman.cluster.apiserver.resources import BUILT_IN, GATED, GATED_SINCE, GROUPS, Resource
from steersman.config import DEFAULT_GATES, FeatureGates


class Catalog:
    """Resources by group, version and plural. `declared` are the structs of plugins' own kinds;
    `gates` determine which resources of newer versions are served."""

    def __init__(self, declared: Iterable[type[api.Object]] = (), gates: FeatureGates = DEFAULT_GATES) -> None:
        self.declared = tuple(declared)
        #: The emulated release of Kubernetes, such as v1.37.1.
        self.release = KUBE_SCHEDULER_RELEASES[str(gates.version)]
        is_new = gates.version >= GATED_SINCE
        self._gated = tuple(one for one in GATED if is_new and gates.enabled(one.gate))
        served = (*BUILT_IN, *self._gated)
        self._built_in = {(resource.api_version, resource.plural): resource for resource in served}
        #: CustomResourceDefinition name → its resources, preferred version first.
        self._custom: dict[str, tuple[Resource, ...]] = {}
        self._found = dict(self._built_in)
        #: Incremented with every change, to invalidate what is derived from the catalog.
        self.generation = 0

    def find(self, api_version: str, plural: str) -> Resource | None:
        return self._found.get((api_version, plural))

    def of_kind(self, api_version: str, kind: str) -> Resource | None:
        """Return the stored resource of an API version and kind."""
        return next((found for found in self.resources(api_version) if found.kind == kind and found.stored_as), None)

    def resources(self, api_version: str) -> list[Resource]:
        return [resource for (version, _), resource in self._found.items() if version == api_version]

    def all(self) -> Sequence[Resource]:
        return tuple(self._found.values())

    def groups(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the non-core groups and their versions, preferred version first."""
        versions = dict(GROUPS)
        for resources in (self._gated, *self._custom.values()):
            for resource in resources:
                known = versions.get(resource.group, ())
                if resource.version not in known:
                    versions[resource.group] = (*known, resource.version)
        return list(versions.items())

    def is_built_in(self, resource: Resource) -> bool:
        return (resource.api_version, resource.plural) in self._built_in

    def serve(self, name: str, resources: Iterable[Resource]) -> None:
        """Set the served versions of a custom resource."""
        self._custom[name] = tuple(resources)
        self._rebuild()

    def withdraw(self, name: str) -> None:
        if self._custom.pop(name, None) is not None:
            self._rebuild()

    def _rebuild(self) -> None:
        custom = (resource for resources in self._custom.values() for resource in resources)
        self._found = {**{(one.api_version, one.plural): one for one in custom}, **self._built_in}
        self.generation += 1
