# SPDX-License-Identifier: Apache-2.0
"""Read-only API client for plugins on the embedded cluster: `framework.reading.ApiReader` on a
`Store`.

Results are immediate. It serves built-in kinds and those that plugins declare. Manifests of other
kinds are not loaded, so an empty result would be wrong; an error says what to declare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, TypeVar

from steersman import api
from steersman.api import codec, selector_text
from steersman.base import InputError
from steersman.cluster.store.store import Store
from steersman.framework import ApiReadError, check_place, resource_text

T = TypeVar("T", bound=api.Object)

NOT_SERVED: Final = "the embedded cluster does not have {}; name its class in `reads` of the plugin"
NOT_SELECTABLE: Final = "field_selector: {} cannot be selected by {}; possible: {}"
_NOT_FOUND, _BAD_REQUEST = 404, 400
_EVERYWHERE: Final = ("metadata.name", "metadata.namespace")
_SELECTABLE: Final[dict[type[api.Object], tuple[str, ...]]] = {
    api.Pod: (
        "spec.hostNetwork",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.nominatedNodeName",
        "status.phase",
        "status.podIP",
    ),
    api.Node: ("spec.unschedulable",),
    api.Namespace: ("status.phase",),
    api.Job: ("status.successful",),
    api.ReplicaSet: ("status.replicas",),
    api.ReplicationController: ("status.replicas",),
    api.Service: ("spec.clusterIP", "spec.type"),
    api.ResourceSlice: ("spec.driver", "spec.nodeName"),
}
"""Fields that an API server can select by, besides name and namespace."""


class StoreReader:
    """Reader of a store; `serve` adds kinds declared by plugins."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kinds: dict[type[api.Object], None] = dict.fromkeys(api.KINDS.values())

    def serve(self, kinds: Iterable[type[api.Object]]) -> None:
        """Add kinds that can be read."""
        self._kinds.update(dict.fromkeys(kinds))

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T | None:
        self._check_served(kind)
        check_place(kind, namespace, name)
        return self._store.find(kind, f"{namespace}/{name}" if kind.NAMESPACED else name)

    async def list(
        self, kind: type[T], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[T]:
        self._check_served(kind)
        check_place(kind, namespace)
        try:
            labels, fields = selector_text.label_selector(label_selector), selector_text.field_selector(field_selector)
        except InputError as cause:
            raise ApiReadError(f"list {resource_text(kind)}: {cause}", _BAD_REQUEST) from cause
        _check_selectable(kind, fields)
        found, _ = self._store.list(kind, namespace or None, labels)
        return list(_selected(found, fields))

    async def get_document(self, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        found = await self.get(self._kind(api_version, kind), name, namespace)
        return None if found is None else codec.to_dict(found)

    async def list_documents(
        self, api_version: str, kind: str, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Sequence[dict[str, Any]]:
        wanted = self._kind(api_version, kind)
        found = await self.list(wanted, namespace, label_selector=label_selector, field_selector=field_selector)
        return [codec.to_dict(obj) for obj in found]

    def _kind(self, api_version: str, name: str) -> type[api.Object]:
        for kind in self._kinds:
            if api_version == kind.API_VERSION and name in (kind.KIND, kind.PLURAL):
                return kind
        raise ApiReadError(NOT_SERVED.format(f"{name} of {api_version}"), _NOT_FOUND)

    def _check_served(self, kind: type[api.Object]) -> None:
        if kind not in self._kinds:
            raise ApiReadError(NOT_SERVED.format(f"{kind.KIND} of {kind.API_VERSION}"), _NOT_FOUND)


def _check_selectable(kind: type[api.Object], fields: Sequence[selector_text.FieldSelectorRequirement]) -> None:
    possible = (*_EVERYWHERE, *_SELECTABLE.get(kind, ()))
    for requirement in fields:
        if requirement.field not in possible:
            text = NOT_SELECTABLE.format(resource_text(kind), requirement.field, ", ".join(possible))
            raise ApiReadError(text, _BAD_REQUEST)


def _selected(objects: Sequence[T], fields: Sequence[selector_text.FieldSelectorRequirement]) -> Iterator[T]:
    if not fields:
        yield from objects
        return
    for obj in objects:
        document = codec.to_dict(obj)
        if all(requirement.matches(document) for requirement in fields):
            yield obj
