"""What every pod asks for, and may use at most: `/metrics/resources`, one series per pod and resource.

Made of the listers when somebody looks, and of nothing else; upstream counts the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from steersman import api
from steersman.api import quantity
from steersman.framework.pod_resources import request_amounts

LABELS: Final = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
REQUEST: Final = "kube_pod_resource_request"
LIMIT: Final = "kube_pod_resource_limit"
_FINISHED: Final = ("Succeeded", "Failed")
_BYTES: Final = frozenset({"memory", "storage", "ephemeral-storage"})
_replace = msgspec.structs.replace

Amounts = Mapping[str, quantity.Amount]


def pod_resources(pods: Sequence[api.Pod]) -> bytes:
    """The text for Prometheus. Slow with many pods; may run in a thread, since they are frozen."""
    registry = CollectorRegistry()
    registry.register(PodResources(pods))
    return generate_latest(registry)


class PodResources(Collector):
    """Requests and limits of some pods."""

    def __init__(self, pods: Iterable[api.Pod]) -> None:
        self._pods = [pod for pod in pods if not (pod.spec.node_name and pod.status.phase in _FINISHED)]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield self._family(REQUEST, "What a pod asks for, by resource.", _requests)
        yield self._family(LIMIT, "What a pod may use at most, by resource.", limits)

    def _family(self, name: str, text: str, amounts_of: Callable[[api.Pod], Amounts]) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, text, labels=LABELS)
        for pod in self._pods:
            owner = _owner(pod)
            for resource, amount in amounts_of(pod).items():
                if amount.unscaled:
                    family.add_metric((*owner, resource, unit(resource)), amount.unscaled * 10.0**amount.scale)
        return family


def _owner(pod: api.Pod) -> tuple[str, ...]:
    meta, spec = pod.metadata, pod.spec
    priority = "" if spec.priority is None else str(spec.priority)
    return meta.namespace, meta.name, spec.node_name, spec.scheduler_name, priority


def _requests(pod: api.Pod) -> Amounts:
    return request_amounts(pod, status=False)


def limits(pod: api.Pod) -> Amounts:
    """Summed up like requests; overhead is added only to what has a limit."""
    total = dict(request_amounts(_asking_for_its_limits(pod), status=False))
    for resource, amount in pod.spec.overhead.items():
        if resource in total and total[resource].unscaled:
            total[resource] = quantity.add(total[resource], quantity.parse(amount))
    return total


def _asking_for_its_limits(pod: api.Pod) -> api.Pod:
    spec = pod.spec
    return _replace(
        pod,
        spec=_replace(
            spec,
            containers=tuple(map(_limited, spec.containers)),
            init_containers=tuple(map(_limited, spec.init_containers)),
            resources=None if spec.resources is None else _swapped(spec.resources),
            overhead={},
        ),
    )


def _limited(container: api.Container) -> api.Container:
    return _replace(container, resources=_swapped(container.resources))


def _swapped(resources: api.ResourceRequirements) -> api.ResourceRequirements:
    return _replace(resources, requests=resources.limits)


def unit(resource: str) -> str:
    if resource == "cpu":
        return "cores"
    if resource in _BYTES or resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else ""
