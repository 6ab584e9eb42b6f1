# SPDX-License-Identifier: Apache-2.0
"""Template manifests of all served kinds, from object_templates.yaml or minimal ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from steersman import api
from steersman.cluster.apiserver import Catalog, Resource
from steersman.sandbox.web.answers import WebPart

FILE: Final = Path(__file__).with_suffix(".yaml")
TEMPLATE_ZONE: Final = f"{api.ZONE_LABEL}: a"
"""Zone in the templates, which is replaced by a zone of the cluster."""
_SEPARATOR: Final = "---\n"


class KindTemplate(WebPart, frozen=True):
    """A kind with the API path of its objects, and an initial manifest."""

    kind: str
    api_version: str
    plural: str
    namespaced: bool
    path: str
    yaml: str
    custom: bool


class TemplateList(WebPart, frozen=True):
    kinds: list[KindTemplate]


def template_list(catalog: Catalog, zone: str = "") -> TemplateList:
    """Return templates of all creatable kinds, one version each. `zone` is a zone of the nodes."""
    chosen: dict[type[api.Object], Resource] = {}
    for resource in catalog.all():
        if resource.stored_as is not None and "create" in resource.verbs:
            chosen.setdefault(resource.stored_as, resource)
    kinds = [_template(resource, not catalog.is_built_in(resource), zone) for resource in chosen.values()]
    return TemplateList(sorted(kinds, key=lambda one: (one.custom, one.kind, one.api_version)))


def collection_path(resource: Resource, namespace: str) -> str:
    """Return the API path at which objects of a resource are listed and created."""
    root = "/api" if "/" not in resource.api_version else "/apis"
    place = f"/namespaces/{namespace}" if resource.namespaced else ""
    return f"{root}/{resource.api_version}{place}/{resource.plural}"


def _template(resource: Resource, is_custom: bool, zone: str) -> KindTemplate:
    text = templates().get((resource.api_version, resource.kind)) or _bare(resource)
    return KindTemplate(
        resource.kind,
        resource.api_version,
        resource.plural,
        resource.namespaced,
        f"kube{collection_path(resource, '{namespace}')}",
        text.replace(TEMPLATE_ZONE, f"{api.ZONE_LABEL}: {zone}") if zone else text,
        is_custom,
    )


def _bare(resource: Resource) -> str:
    header = f"apiVersion: {resource.api_version}\nkind: {resource.kind}\n"
    return f"{header}metadata:\n  name: example\n" + ("  namespace: default\n" if resource.namespaced else "")


@cache
def templates() -> Mapping[tuple[str, str], str]:
    """Return the texts of the file by apiVersion and kind, as they are written there."""
    found = {}
    for text in FILE.read_text(encoding="utf-8").split(_SEPARATOR):
        lines = dict(line.split(": ", 1) for line in text.splitlines() if line.startswith(("apiVersion: ", "kind: ")))
        if len(lines) == 2:
            found[lines["apiVersion"], lines["kind"]] = text
    return found
