# SPDX-License-Identifier: Apache-2.0
"""Reference of the metrics: everything that the registries of `steersman run` and `steersman shadow` declare."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from prometheus_client.metrics_core import Metric

from scripts.site.markdown import code, table
from steersman.config import DEFAULT_GATES
from steersman.kube.observe.client_metrics import ClientMetrics
from steersman.kube.observe.metrics import HealthMetrics, Metrics
from steersman.kube.observe.series import Children, MetricSet
from steersman.run.shadow.summary import ShadowMetrics


class MetricEntry(NamedTuple):
    """One metric as dashboards name it."""

    name: str
    kind: str
    labels: tuple[str, ...]
    text: str


def metrics_page() -> str:
    return "\n".join(_lines())


def metric_entries() -> list[MetricEntry]:
    """Everything but the metrics of the process, in the order of the names."""
    metrics, health, shadow = Metrics(), HealthMetrics(), ShadowMetrics()
    sets: tuple[MetricSet, ...] = (metrics, ClientMetrics(metrics.registry), health, shadow)
    metrics.show_gates(DEFAULT_GATES)
    labels = {each.name: each.labels for one in sets for each in vars(one).values() if isinstance(each, Children)}
    families = (*metrics.registry.collect(), *health.registry.collect(), *shadow.registry.collect())
    return sorted(_entry(family, labels) for family in families if not family.name.startswith("process_"))


def _lines() -> Iterator[str]:
    yield from ("# Metrics", "")
    yield "`/metrics` of `steersman run`. Names, labels and buckets are kube-scheduler's, so that dashboards work as they"
    yield "are; what begins with `steersman_` has no counterpart there. Those of the process (`process_*`) come on top."
    yield "What begins with `steersman_shadow_` is shown by `steersman shadow --metrics-address`, and nothing else is."
    yield ""
    rows = ((code(each.name), each.kind, ", ".join(map(code, each.labels)), each.text) for each in metric_entries())
    yield from table(("metric", "kind", "labels", "what it counts"), rows)


def _entry(family: Metric, labels: Mapping[str, tuple[str, ...]]) -> MetricEntry:
    name = f"{family.name}_total" if family.type == "counter" else family.name
    declared = labels.get(name, ())
    shown = tuple(family.samples[0].labels) if family.samples and not declared else declared
    return MetricEntry(name, family.type, tuple(label for label in shown if label != "le"), family.documentation)
