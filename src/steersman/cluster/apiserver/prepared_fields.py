# SPDX-License-Identifier: Apache-2.0
"""Fields that a kube-apiserver sets, keeps or drops before validation: `PrepareForCreate` and
`PrepareForUpdate`.

`default_fields` adds defaults; this module handles fields that clients cannot choose, or that
depend on the stored object. `service_fields` prepares Services.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from steersman.api import Document, elements, group_kind, part
from steersman.api.defaults import with_default_fields, with_normal_addresses, with_pod_tolerations

Prepare: TypeAlias = Callable[[Document, Document | None], Document]
"""Prepares an object for validation, given the stored object that it replaces."""

_FINALIZER: Final = "kubernetes"


def prepared(document: Document, old: Document | None, now: str) -> Document:
    """Return the object with the fields that its kind sets, and without those it drops."""
    if group_kind(document) == ("resource.k8s.io", "ResourceSlice"):
        return _resource_slice(document, now)
    prepare = _PREPARE.get(group_kind(document))
    return document if prepare is None else prepare(document, old)


def _namespace(document: Document, old: Document | None) -> Document:
    finalizers = elements(document, "spec", "finalizers")
    if old is not None:
        finalizers = elements(old, "spec", "finalizers")
    elif _FINALIZER not in finalizers:
        finalizers = [*finalizers, _FINALIZER]
    return {**document, "spec": {**part(document, "spec"), "finalizers": finalizers}}


def _job(document: Document, old: Document | None) -> Document:
    """Generate labels and selector of a new Job."""
    return document if old is not None else with_default_fields(document)


def _pod(document: Document, _: Document | None) -> Document:
    return {**document, "spec": with_pod_tolerations(part(document, "spec"))}


def _node(document: Document, _: Document | None) -> Document:
    return _with_spec(document, "configSource")


def _endpoint_slice(document: Document, _: Document | None) -> Document:
    endpoints = [_without(endpoint, "deprecatedTopology") for endpoint in elements(document, "endpoints")]
    return {**document, "endpoints": endpoints} if endpoints else document


def _service_account(document: Document, _: Document | None) -> Document:
    """Reduce secret references to their names."""
    secrets = [{"name": secret["name"]} if secret.get("name") else {} for secret in elements(document, "secrets")]
    return {**document, "secrets": secrets} if secrets else document


def _resource_slice(document: Document, now: str) -> Document:
    """Set `timeAdded` of taints without one."""
    spec, devices = part(document, "spec"), elements(document, "spec", "devices")
    if not any(device.get("taints") for device in devices):
        return document
    timed = [
        {**device, "taints": [{"timeAdded": now, **taint} for taint in device["taints"]]}
        if device.get("taints")
        else device
        for device in devices
    ]
    return {**document, "spec": {**spec, "devices": timed}}


def _lease(document: Document, _: Document | None) -> Document:
    """Drop the fields of coordinated leader election, which is disabled."""
    return _with_spec(document, "strategy", "preferredHolder")


def _csi_driver(document: Document, _: Document | None) -> Document:
    return _with_spec(document, "preventPodSchedulingIfMissing")


def _with_spec(document: Document, *dropped: str) -> Document:
    spec = document.get("spec")
    return {**document, "spec": _without(spec, *dropped)} if isinstance(spec, dict) else document


def _without(value: Mapping[str, Any], *names: str) -> Document:
    return {name: member for name, member in value.items() if name not in names}


_PREPARE: Final[Mapping[tuple[str, str], Prepare]] = {
    ("", "Namespace"): _namespace,
    ("", "Node"): _node,
    ("", "Pod"): _pod,
    ("", "Service"): with_normal_addresses,
    ("", "ServiceAccount"): _service_account,
    ("batch", "Job"): _job,
    ("coordination.k8s.io", "Lease"): _lease,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
    ("storage.k8s.io", "CSIDriver"): _csi_driver,
}
