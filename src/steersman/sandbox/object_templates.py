# SPDX-License-Identifier: Apache-2.0
"""Manifests to begin with, one for every kind that the sandbox serves: of object_templates.yaml, bare ones for others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from steersman.apiserver.catalog import Catalog
from steersman.apiserver.resources import Resource
from steersman.web.answers import WebPart

FILE: Final = Path(__file__).with_suffix(".yaml")
_SEPARATOR: Final = "---\n"


class KindTemplate(WebPart, frozen=True):
    """A kind, where its objects are listed and created, and a manifest to begin with."""

    kind: str
    api_version: str
    plural: str
    namespaced: bool
    path: str
    yaml: str
    custom: bool


class TemplateList(WebPart, frozen=True):
    kinds: list[KindTemplate]


def template_list(catalog: Catalog) -> TemplateList:
    """Templates by kind, of what can be created, in one version each."""
    chosen: dict[tuple[str, str], Resource] = {}
    for resource in catalog.all():
        if resource.stored_as is not None and "create" in resource.verbs:
            chosen.setdefault((resource.group, resource.kind), resource)
    kinds = [_template(resource, not catalog.is_built_in(resource)) for resource in chosen.values()]
    return TemplateList(sorted(kinds, key=lambda one: (one.custom, one.kind, one.api_version)))


def _template(resource: Resource, is_custom: bool) -> KindTemplate:
    root = "kube/api" if "/" not in resource.api_version else "kube/apis"
    place = "/namespaces/{namespace}" if resource.namespaced else ""
    return KindTemplate(
        resource.kind,
        resource.api_version,
        resource.plural,
        resource.namespaced,
        f"{root}/{resource.api_version}{place}/{resource.plural}",
        templates().get((resource.api_version, resource.kind)) or _bare(resource),
        is_custom,
    )


def _bare(resource: Resource) -> str:
    header = f"apiVersion: {resource.api_version}\nkind: {resource.kind}\n"
    return f"{header}metadata:\n  name: example\n" + ("  namespace: default\n" if resource.namespaced else "")


@cache
def templates() -> Mapping[tuple[str, str], str]:
    """The texts of the file by apiVersion and kind, as they are written there."""
    found = {}
    for text in FILE.read_text(encoding="utf-8").split(_SEPARATOR):
        lines = dict(line.split(": ", 1) for line in text.splitlines() if line.startswith(("apiVersion: ", "kind: ")))
        if len(lines) == 2:
            found[lines["apiVersion"], lines["kind"]] = text
    return found
