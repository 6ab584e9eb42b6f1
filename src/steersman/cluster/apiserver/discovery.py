# SPDX-License-Identifier: Apache-2.0
"""API discovery: groups, versions and resources, as read by `kubectl api-resources` and all
clients.

Two forms: a document per group and version, and two aggregated ones (`apidiscovery.k8s.io/v2`).
"""

from __future__ import annotations

from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.resources import Resource, Subresource
from steersman.cluster.store import Document


def api_versions(address: str) -> Document:
    """Return the document of `/api`."""
    addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}]
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}


def api_group_list(catalog: Catalog) -> Document:
    """Return the document of `/apis`."""
    groups = [_group(name, versions) for name, versions in catalog.groups()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def api_group(catalog: Catalog, group: str) -> Document | None:
    """Return the document of a group, such as `/apis/apps`; None if it is not served."""
    versions = dict(catalog.groups()).get(group)
    return None if versions is None else {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)}


def api_resource_list(catalog: Catalog, api_version: str) -> Document | None:
    """Return the document of a version, such as `/apis/apps/v1`; None if it is not served."""
    found = catalog.resources(api_version)
    if not found:
        return None
    entries = [entry for resource in found for entry in _legacy_entries(resource)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": entries}


def aggregated(catalog: Catalog, version: str, *, core: bool) -> Document:
    """Return the aggregated discovery document of `/api` or `/apis`."""
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
