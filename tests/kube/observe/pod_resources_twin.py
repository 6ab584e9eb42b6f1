# SPDX-License-Identifier: Apache-2.0
"""`/metrics/resources` by Prometheus' own client: the slow twin of `observe.pod_resources`, which a reader can check by eye."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.registry import Collector

from steersman import api
from steersman.api import quantity
from steersman.kube.observe.pod_resources import (
    LIMIT,
    LIMIT_TEXT,
    REQUEST,
    REQUEST_TEXT,
    is_shown,
    limits,
    requests,
    unit,
)

LABELS = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")


def pod_resources_twin(pods: Iterable[api.Pod]) -> bytes:
    registry = CollectorRegistry()
    registry.register(PodResources(pods))
    return generate_latest(registry)


class PodResources(Collector):
    def __init__(self, pods: Iterable[api.Pod]) -> None:
        self._pods = [pod for pod in pods if is_shown(pod)]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield self._family(REQUEST, REQUEST_TEXT, requests)
        yield self._family(LIMIT, LIMIT_TEXT, limits)

    def _family(
        self, name: str, text: str, amounts_of: Callable[[api.Pod], Mapping[str, quantity.Amount]]
    ) -> GaugeMetricFamily:
        family = GaugeMetricFamily(name, text, labels=LABELS)
        for pod in self._pods:
            meta, spec = pod.metadata, pod.spec
            priority = "" if spec.priority is None else str(spec.priority)
            owner = meta.namespace, meta.name, spec.node_name, spec.scheduler_name, priority
            for resource, amount in amounts_of(pod).items():
                if amount.unscaled:
                    family.add_metric((*owner, resource, unit(resource)), amount.unscaled * 10.0**amount.scale)
        return family
