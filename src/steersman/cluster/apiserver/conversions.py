# SPDX-License-Identifier: Apache-2.0
"""Conversion of objects between the stored version and the client's version.

Events are stored in the core group and also served as events.k8s.io; autoscalers are stored as
autoscaling/v2. Versions of custom resources differ only in `apiVersion` (conversion strategy None).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

from steersman.cluster.apiserver.resources import Resource
from steersman.cluster.store import Document

METRICS: Final = "autoscaling.alpha.kubernetes.io/metrics"
BEHAVIOR: Final = "autoscaling.alpha.kubernetes.io/behavior"
CONDITIONS: Final = "autoscaling.alpha.kubernetes.io/conditions"
"""Annotations of autoscaling/v1 that hold autoscaling/v2 fields it does not have, as JSON."""

_EVENT_NAMES: Final = {
    "involvedObject": "regarding",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "message": "note",
    "reportingComponent": "reportingController",
}
_CORE_EVENT_NAMES: Final = {name: core for core, name in _EVENT_NAMES.items()}


def presented(resource: Resource, document: Document) -> Document:
    """Convert a stored document to the version of the resource."""
    if not resource.is_stored_elsewhere:
        return document
    convert = _TO_CLIENT.get(resource.api_version)
    shown = document if convert is None else convert(document)
    return {**shown, "apiVersion": resource.api_version}


def stored(resource: Resource, document: Document) -> Document:
    """Convert a client's document to the stored version."""
    if resource.stored_as is None or not resource.is_stored_elsewhere:
        return document
    convert = _FROM_CLIENT.get(resource.api_version)
    taken = document if convert is None else convert(document)
    return {**taken, "apiVersion": resource.stored_as.API_VERSION}


def _event_to_client(document: Document) -> Document:
    return {_EVENT_NAMES.get(name, name): value for name, value in document.items()}


def _event_from_client(document: Document) -> Document:
    return {_CORE_EVENT_NAMES.get(name, name): value for name, value in document.items()}


# -- autoscaling/v1 --------------------------------------------------------------------------------


def _autoscaler_to_v1(document: Document) -> Document:
    spec, status = dict(document.get("spec") or {}), dict(document.get("status") or {})
    metrics, behavior = spec.pop("metrics", None) or [], spec.pop("behavior", None)
    cpu = [metric for metric in metrics if _cpu_target(metric) is not None]
    if cpu:
        spec["targetCPUUtilizationPercentage"] = _cpu_target(cpu[0])
    carried = {METRICS: [metric for metric in metrics if metric not in cpu[:1]], BEHAVIOR: behavior}
    carried[CONDITIONS] = status.pop("conditions", None)
    current = next(filter(None, map(_current_cpu, status.pop("currentMetrics", None) or [])), None)
    if current is not None:
        status["currentCPUUtilizationPercentage"] = current
    shown = {**document, "spec": spec, "metadata": _annotated(document, carried)}
    return {**shown, "status": status} if "status" in document else shown


def _autoscaler_from_v1(document: Document) -> Document:
    spec, status = dict(document.get("spec") or {}), dict(document.get("status") or {})
    metadata = dict(document.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    metrics: list[Any] = _json(annotations.pop(METRICS, None)) or []
    percentage = spec.pop("targetCPUUtilizationPercentage", None)
    if percentage is not None:
        target = {"type": "Utilization", "averageUtilization": percentage}
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}, *metrics]
    carried = {"metrics": metrics, "behavior": _json(annotations.pop(BEHAVIOR, None))}
    spec |= {name: value for name, value in carried.items() if value}
    conditions = _json(annotations.pop(CONDITIONS, None))
    status.pop("currentCPUUtilizationPercentage", None)
    status |= {"conditions": conditions} if conditions else {}
    metadata["annotations"] = annotations
    if not annotations:
        del metadata["annotations"]
    taken = {**document, "spec": spec, "metadata": metadata}
    return {**taken, "status": status} if "status" in document else taken


def _cpu_target(metric: Any) -> int | None:
    resource = metric.get("resource") or {} if metric.get("type") == "Resource" else {}
    target = resource.get("target") or {}
    found: int | None = target.get("averageUtilization") if resource.get("name") == "cpu" else None
    return found


def _current_cpu(metric: Any) -> int | None:
    resource = metric.get("resource") or {}
    found: int | None = (resource.get("current") or {}).get("averageUtilization")
    return found if resource.get("name") == "cpu" else None


def _annotated(document: Document, carried: Document) -> Document:
    metadata = dict(document.get("metadata") or {})
    added = {name: json.dumps(value, separators=(",", ":")) for name, value in carried.items() if value}
    if added:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **added}
    return metadata


def _json(text: str | None) -> Any:
    try:
        return None if text is None else msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None  # like upstream, ignore an unreadable annotation


_TO_CLIENT: Final[dict[str, Callable[[Document], Document]]] = {
    "events.k8s.io/v1": _event_to_client,
    "autoscaling/v1": _autoscaler_to_v1,
}
_FROM_CLIENT: Final[dict[str, Callable[[Document], Document]]] = {
    "events.k8s.io/v1": _event_from_client,
    "autoscaling/v1": _autoscaler_from_v1,
}
