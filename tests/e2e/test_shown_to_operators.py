# SPDX-License-Identifier: Apache-2.0
"""Metrics and effective configuration: names, labels and buckets that dashboards and people know from kube-scheduler."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.e2e.cleaning import empty
from tests.e2e.comparing import settled
from tests.e2e.test_preemption import kubelets_end_the_victims, prepare

from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, KubeScheduler, Steersman

# Of opportunistic batching, which reuses the result of the last pod for the next equal one: not how we are fast.
WITHOUT_COUNTERPART = {
    "scheduler_batch_attempts",
    "scheduler_batch_cache_flushed",
    "scheduler_get_node_hint_duration_seconds",
    "scheduler_store_schedule_results_duration_seconds",
}
# The events that are in flight at the moment of the question, if any.
MOMENTARY = {"scheduler_inflight_events"}
# A tenth of the cycles is sampled: with few pods, either scheduler may have no sample.
SAMPLED = "scheduler_plugin_execution_duration_seconds"


@dataclass(frozen=True)
class Family:
    """What a dashboard depends on."""

    type: str
    labels: frozenset[tuple[str, ...]]
    buckets: frozenset[float]


@dataclass(frozen=True)
class Shown:
    metrics: dict[str, Family]
    resources: dict[str, Family]
    configuration: JsonObject


@dataclass(frozen=True)
class BothShown:
    upstream: Shown
    steersman: Shown


@pytest.fixture(scope="module")
def both(shared_plane: ControlPlane) -> BothShown:
    token = reader(shared_plane.admin)
    return BothShown(*(shown(shared_plane, scheduler, token) for scheduler in (KubeScheduler, Steersman)))


def shown(plane: ControlPlane, scheduler: type[KubeScheduler] | type[Steersman], token: str) -> Shown:
    """After pods were placed, refused, and placed by preemption."""
    empty(plane.admin)
    prepare(plane.admin)
    with scheduler(plane) as process:
        kubelets_end_the_victims(plane.admin)
        settled(plane.admin)
        texts = [answer(process, path, token) for path in ("/metrics", "/metrics/resources", "/configz")]
    empty(plane.admin)
    return Shown(families(texts[0]), families(texts[1]), json.loads(texts[2]))


def reader(admin: KubeClient) -> str:
    """The token of somebody who may see everything."""
    meta = {"name": "operator", "namespace": "default"}
    admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta})
    admin.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "operator"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", **meta}],
        }
    )
    return admin.token("operator")


def answer(process: KubeScheduler | Steersman, path: str, token: str) -> str:
    code, text = process.get(path, token=token)
    assert code == 200, (path, text)
    return text


def families(text: str) -> dict[str, Family]:
    found: dict[str, Family] = {}
    for family in text_string_to_metric_families(text):
        labels = frozenset(tuple(sorted(sample.labels.keys() - {"le"})) for sample in family.samples)
        buckets = frozenset(float(sample.labels["le"]) for sample in family.samples if "le" in sample.labels)
        found[family.name] = Family(family.type, labels, buckets)
    return found


def test_the_metrics_of_kube_scheduler_are_there_with_their_labels_and_buckets(both: BothShown) -> None:
    wanted = {
        name: family
        for name, family in both.upstream.metrics.items()
        if name.startswith("scheduler_") and name not in WITHOUT_COUNTERPART | MOMENTARY
    }
    ours = {name: family for name, family in both.steersman.metrics.items() if name in wanted}
    assert ours[SAMPLED].type == wanted[SAMPLED].type
    if not (ours[SAMPLED].labels and wanted[SAMPLED].labels):
        del ours[SAMPLED], wanted[SAMPLED]

    assert ours == wanted
    assert "scheduler_schedule_attempts" in wanted


def test_the_resources_of_pods_are_shown_alike(both: BothShown) -> None:
    assert both.steersman.resources["kube_pod_resource_request"] == both.upstream.resources["kube_pod_resource_request"]


def test_the_effective_configuration_is_shown_alike(both: BothShown) -> None:
    assert both.steersman.configuration == both.upstream.configuration
