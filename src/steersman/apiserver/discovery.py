# SPDX-License-Identifier: Apache-2.0
"""Discovery: which groups, versions and resources there are, as `kubectl api-resources` and every client ask.

Two forms: a document per group and version, and the aggregated one (`apidiscovery.k8s.io/v2`), which has all in two documents.
"""

from __future__ import annotations

from steersman.apiserver.catalog import Catalog
from steersman.apiserver.resources import Resource, Subresource
from steersman.embedded import Document


def api_versions(address: str) -> Document:
    """`/api`."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def api_group_list(catalog: Catalog) -> Document:
    """`/apis`."""
    groups = [_group(name, versions) for name, versions in catalog.groups()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(catalog: Catalog, group: str) -> Document | None:
    """`/apis/apps`; None for a group that is not there."""
    versions = dict(catalog.groups()).get(group)
    return None if versions is None else {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)}


def api_resource_list(catalog: Catalog, api_version: str) -> Document | None:
    """`/apis/apps/v1`; None for a version that is not there."""
    found = catalog.resources(api_version)
    if not found:
        return None
    entries = [entry for resource in found for entry in _legacy_entries(resource)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": entries}


def aggregated(catalog: Catalog, version: str, *, core: bool) -> Document:
    """`/api` or `/apis` with all that is in them."""
    groups = [("", ("v1",))] if core else catalog.groups()
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": f"apidiscovery.k8s.io/{version}",
        "metadata": {},
        "items": [_aggregated_group(catalog, name, versions) for name, versions in groups],
    }


def _group(name: str, versions: tuple[str, ...]) -> Document:
    entries = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": entries, "preferredVersion": entries[0]}


def _legacy_entries(resource: Resource) -> list[Document]:
    entry: Document = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return [entry, *(_legacy_subresource(resource, sub) for sub in resource.subresources)]


def _legacy_subresource(resource: Resource, sub: Subresource) -> Document:
    name, verbs = f"{resource.plural}/{sub.name}", list(sub.verbs)
    entry: Document = {"name": name, "singularName": "", "namespaced": resource.namespaced}
    if sub.version:
        entry |= {"group": sub.group, "version": sub.version}
    return {**entry, "kind": sub.kind, "verbs": verbs}


def _aggregated_group(catalog: Catalog, name: str, versions: tuple[str, ...]) -> Document:
    metadata: Document = {"creationTimestamp": None} | ({"name": name} if name else {})
    shown = []
    for version in versions:
        found = catalog.resources(f"{name}/{version}" if name else version)
        resources = [_aggregated_resource(resource) for resource in found]
        shown.append({"version": version, "resources": resources, "freshness": "Current"})
    return {"metadata": metadata, "versions": shown}


def _aggregated_resource(resource: Resource) -> Document:
    entry: Document = {
        "resource": resource.plural,
        "responseKind": _kind(resource.group, resource.version, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if resource.subresources:
        entry["subresources"] = [_aggregated_subresource(resource, sub) for sub in resource.subresources]
    return entry


def _aggregated_subresource(resource: Resource, sub: Subresource) -> Document:
    group, version = (sub.group, sub.version) if sub.version else (resource.group, resource.version)
    return {"subresource": sub.name, "responseKind": _kind(group, version, sub.kind), "verbs": list(sub.verbs)}


def _kind(group: str, version: str, kind: str) -> Document:
    return {"group": group, "version": version, "kind": kind}
