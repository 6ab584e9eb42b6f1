# SPDX-License-Identifier: Apache-2.0
"""Replica counts proposed by metrics: kube-controller-manager's replica calculator on given loads.

Amounts are thousandths of the metric's unit. If ready pods are overloaded, unready ones count with
zero load, so that replicas that are already starting are not created twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from steersman.api import (
    MetricSource,
    MetricSourceStatus,
    MetricSpec,
    MetricStatus,
    MetricValueStatus,
    Pod,
    quantity,
)
from steersman.base import InputError
from steersman.cluster.controllers.pod_states import is_ready

TOLERANCE: Final = 0.1
SOURCES: Final = {
    "Resource": "resource",
    "ContainerResource": "container_resource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}
"""Metric type → attribute with its source."""
NO_PODS: Final = "no pods returned by selector while calculating replica count"
NO_METRICS: Final = "did not receive metrics for targeted pods (pods might be unready)"
NO_RESOURCE_METRICS: Final = (
    "unable to fetch metrics from resource metrics API: the server could not find the requested resource "
    "(get pods.metrics.k8s.io)"
)
NO_LOAD: Final = (
    "its simulated pods have no load: annotate them with steersman.dev/load-{0}, or their controller with "
    "steersman.dev/load"
)
NO_CUSTOM_METRICS: Final = "unable to fetch metrics from custom metrics API: no custom metrics API registered"
NO_EXTERNAL_METRICS: Final = "unable to fetch metrics from external metrics API: no external metrics API registered"


class Tolerances(NamedTuple):
    """Relative deviations of a metric that do not change the number of replicas."""

    down: float = TOLERANCE
    up: float = TOLERANCE

    def cover(self, ratio: float) -> bool:
        return 1.0 - self.down <= ratio <= 1.0 + self.up


class ScaledTarget(NamedTuple):
    """Pods of the scale target, with desired and actual replicas."""

    pods: Sequence[Pod]
    replicas: int
    status_replicas: int


class Proposal(NamedTuple):
    """Number of replicas that a metric proposes, with its description and the measured value."""

    replicas: int
    metric: str
    status: MetricStatus


def source_of(metric: MetricSpec) -> MetricSource:
    """Return the source of a metric. Raises `InputError` for an invalid type."""
    source: MetricSource | None = getattr(metric, SOURCES.get(metric.type, ""), None)
    if source is None:
        raise InputError(f'invalid metric source type "{metric.type}"')
    return source


def metric_name(metric: MetricSpec) -> str:
    source = source_of(metric)
    return source.name or (source.metric.name if source.metric else "")


def propose(
    metric: MetricSpec, load: int | None, target: ScaledTarget, tolerances: Tolerances, *, has_metrics_api: bool = False
) -> Proposal:
    """Return the proposal of a metric, with `load` None if it is missing. Raises `InputError` with
    upstream's messages."""
    source = source_of(metric)
    match metric.type:
        case "Resource" | "ContainerResource" if load is None and has_metrics_api:
            raise InputError(_missing_load(source, target))
        case "Resource" | "ContainerResource":
            return _resource_proposal(metric, source, load, target, tolerances)
        case "Pods":
            return _pods_proposal(metric, source, load, target, tolerances)
        case _:
            return _other_proposal(metric, source, load, target, tolerances)


def _missing_load(source: MetricSource, target: ScaledTarget) -> str:
    """Return why a resource of simulated pods gives no number: requests are missing as well, or
    only the load is."""
    what, why = "usage", NO_LOAD.format(source.name)
    if source.target.average_value is None:
        what = "utilization"
        try:
            for pod in target.pods:
                _request(pod, source.name, source.container)
        except InputError as error:
            why = str(error)
    return f"failed to get {source.name} {what}: {why}"


def _resource_proposal(
    metric: MetricSpec, source: MetricSource, load: int | None, target: ScaledTarget, tolerances: Tolerances
) -> Proposal:
    goal = source.target
    what = "usage" if goal.average_value is not None else "utilization"
    try:
        if load is None:
            raise InputError(f"unable to get metrics for resource {source.name}: {NO_RESOURCE_METRICS}")
        if goal.average_value is not None:
            replicas, usage = _by_value(load, quantity.parse_milli(goal.average_value), target, tolerances)
            current = MetricValueStatus(average_value=_written(source.name, usage))
            return Proposal(replicas, f"{source.name} resource", _status(metric, source, current))
        if goal.average_utilization is None:
            raise InputError(
                "invalid resource metric source: neither an average utilization target nor an average value (usage) "
                "target was set"
            )
        replicas, percent, usage = _by_utilization(load, goal.average_utilization, source, target, tolerances)
    except InputError as error:
        raise InputError(f"failed to get {source.name} {what}: {error}") from error
    current = MetricValueStatus(average_value=_written(source.name, usage), average_utilization=percent)
    container = "container " if metric.type == "ContainerResource" else ""
    words = f"{source.name} {container}resource utilization (percentage of request)"
    return Proposal(replicas, words, _status(metric, source, current))


def _pods_proposal(
    metric: MetricSpec, source: MetricSource, load: int | None, target: ScaledTarget, tolerances: Tolerances
) -> Proposal:
    name = metric_name(metric)
    if load is None:
        raise InputError(f"unable to get metric {name}: {NO_CUSTOM_METRICS}")
    replicas, usage = _by_value(load, quantity.parse_milli(source.target.average_value or 0), target, tolerances)
    current = MetricValueStatus(average_value=_written(name, usage))
    return Proposal(replicas, f"pods metric {name}", _status(metric, source, current))


def _other_proposal(
    metric: MetricSpec, source: MetricSource, load: int | None, target: ScaledTarget, tolerances: Tolerances
) -> Proposal:
    """Return the proposal of an object or external metric: a number for all pods or per pod."""
    name, goal = metric_name(metric), source.target
    if load is None:
        missing = NO_EXTERNAL_METRICS if metric.type == "External" else NO_CUSTOM_METRICS
        raise InputError(f"unable to get {metric.type.lower()} metric {name}: {missing}")
    kind = source.described_object.kind if source.described_object else metric.type
    words = f"external metric {name}(nil)" if metric.type == "External" else f"{kind} metric {name}"
    if goal.average_value is not None and (goal.value is None or goal.type == "AverageValue"):
        replicas, per_pod = _per_pod(load, quantity.parse_milli(goal.average_value), target, tolerances)
        current = MetricValueStatus(average_value=_written(name, per_pod))
    elif goal.value is not None:
        replicas = _by_ratio(load / max(1, quantity.parse_milli(goal.value)), target, tolerances)
        current = MetricValueStatus(value=_written(name, load))
    else:
        what = metric.type.lower()
        raise InputError(f"invalid {what} metric source: neither a value target nor an average value target was set")
    return Proposal(replicas, words, _status(metric, source, current))


def _per_pod(load: int, wanted: int, target: ScaledTarget, tolerances: Tolerances) -> tuple[int, int]:
    replicas = target.status_replicas
    if not replicas or not tolerances.cover(load / (wanted * replicas)):
        replicas = math.ceil(load / wanted)
    return replicas, math.ceil(load / max(1, target.status_replicas))


def _by_ratio(ratio: float, target: ScaledTarget, tolerances: Tolerances) -> int:
    if not target.replicas:
        return math.ceil(ratio)
    if tolerances.cover(ratio):
        return target.replicas
    if not target.pods:
        raise InputError(f"unable to calculate ready pods: {NO_PODS}")
    return math.ceil(ratio * sum(pod.status.phase == "Running" and is_ready(pod) for pod in target.pods))


def _by_value(load: int, wanted: int, target: ScaledTarget, tolerances: Tolerances) -> tuple[int, int]:
    """Return the replicas, and the load per ready pod."""
    ready, unready = _groups(target.pods)
    usage = load // ready
    ratio = usage / max(1, wanted)
    if not unready or ratio <= 1.0:
        return (target.replicas if tolerances.cover(ratio) else math.ceil(ratio * ready)), usage
    pods = ready + unready
    return _with_unready(ratio, (load // pods) / max(1, wanted), pods, target, tolerances), usage


def _by_utilization(
    load: int, wanted: int, source: MetricSource, target: ScaledTarget, tolerances: Tolerances
) -> tuple[int, int, int]:
    """Return the replicas, the utilization of ready pods' requests in percent, and the load per
    ready pod."""
    ready, unready = _groups(target.pods)
    requests = {_is_ready(pod): 0 for pod in target.pods}
    for pod in target.pods:
        if not _is_ignored(pod):
            requests[_is_ready(pod)] += _request(pod, source.name, source.container)
    if not requests.get(True):
        raise InputError("no metrics returned matched known pods")
    percent = load * 100 // requests[True]
    ratio = percent / max(1, wanted)
    if not unready or ratio <= 1.0:
        replicas = target.replicas if tolerances.cover(ratio) else math.ceil(ratio * ready)
    else:
        new_ratio = (load * 100 // sum(requests.values())) / max(1, wanted)
        replicas = _with_unready(ratio, new_ratio, ready + unready, target, tolerances)
    return replicas, percent, load // ready


def _with_unready(ratio: float, new_ratio: float, pods: int, target: ScaledTarget, tolerances: Tolerances) -> int:
    """Return the replicas, counting unready pods without load; unchanged if that reverses the
    direction."""
    if tolerances.cover(new_ratio) or (ratio > 1.0 > new_ratio):
        return target.replicas
    replicas = math.ceil(new_ratio * pods)
    return target.replicas if new_ratio > 1.0 and replicas < target.replicas else replicas


def _groups(pods: Sequence[Pod]) -> tuple[int, int]:
    """Return the numbers of ready and unready pods. Raises `InputError` if none is ready."""
    if not pods:
        raise InputError(NO_PODS)
    counted = [_is_ready(pod) for pod in pods if not _is_ignored(pod)]
    ready = sum(counted)
    if not ready:
        raise InputError(NO_METRICS)
    return ready, len(counted) - ready


def has_metrics(pod: Pod) -> bool:
    """Return whether the pod's usage counts."""
    return _is_ready(pod) and not _is_ignored(pod)


def _is_ignored(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None or pod.status.phase == "Failed"


def _is_ready(pod: Pod) -> bool:
    return pod.status.phase == "Running" and is_ready(pod)


def _request(pod: Pod, resource: str, container: str) -> int:
    sidecars = (known for known in pod.spec.init_containers if known.restart_policy == "Always")
    total = 0
    for known in (*pod.spec.containers, *sidecars):
        if container and known.name != container:
            continue
        amount = known.resources.requests.get(resource)
        if amount is None:
            place = f"in container {known.name} of Pod {pod.metadata.name}"
            raise InputError(f"missing request for {resource} {place}")
        total += quantity.parse_milli(amount)
    return total


def _status(metric: MetricSpec, source: MetricSource, current: MetricValueStatus) -> MetricStatus:
    status = MetricSourceStatus(source.name, source.container, source.metric, source.described_object, current)
    return MetricStatus(type=metric.type, **{SOURCES[metric.type]: status})


def _written(name: str, thousandths: int) -> str:
    """Format an amount as a server does; memory with binary units."""
    unit = quantity.Format.BINARY_SI if name == "memory" else quantity.Format.DECIMAL_SI
    return quantity.canonical(quantity.Amount(thousandths, quantity.MILLI, unit, is_int64=True))
