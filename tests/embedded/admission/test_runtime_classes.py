# SPDX-License-Identifier: Apache-2.0
"""Runtime classes: overhead, and where pods of them may go."""

from __future__ import annotations

from typing import Any

import pytest
from tests.embedded.stores import START

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.store import Forbidden, KubeAdmission, Store


def _store(*, is_required: bool = False, **fields: Any) -> Store:
    store = Store(ManualClock(START), admission=KubeAdmission(enforces_classes=is_required))
    store.create(api.RuntimeClass(metadata=api.ObjectMeta(name="gvisor"), handler="runsc", **fields))
    return store


def _pod(name: str | None = "gvisor", **spec: Any) -> api.Pod:
    return api.Pod(metadata=api.ObjectMeta(name="web"), spec=api.PodSpec(runtime_class_name=name, **spec))


def test_the_overhead_of_the_class_is_the_pods() -> None:
    store = _store(overhead=api.RuntimeClassOverhead(pod_fixed={"cpu": "250m"}))
    assert store.create(_pod()).spec.overhead == {"cpu": "250m"}


def test_another_overhead_is_refused() -> None:
    store = _store(overhead=api.RuntimeClassOverhead(pod_fixed={"cpu": "250m"}))
    with pytest.raises(Forbidden, match="Pod's Overhead doesn't match RuntimeClass's defined Overhead"):
        store.create(_pod(overhead={"cpu": "1"}))
    assert store.create(_pod(overhead={"cpu": "0.25"}))


def test_nodes_and_tolerations_of_the_class_are_added() -> None:
    toleration = api.Toleration(key="sandboxed", operator="Exists")
    scheduling = api.RuntimeClassScheduling(node_selector={"runtime": "gvisor"}, tolerations=(toleration, toleration))
    store = _store(scheduling=scheduling)
    spec = store.create(_pod(node_selector={"disk": "ssd"})).spec
    assert spec.node_selector == {"disk": "ssd", "runtime": "gvisor"}
    assert [known.key for known in spec.tolerations].count("sandboxed") == 1


def test_a_node_selector_that_contradicts_the_class_is_refused() -> None:
    store = _store(scheduling=api.RuntimeClassScheduling(node_selector={"runtime": "gvisor"}))
    with pytest.raises(Forbidden) as refusal:
        store.create(_pod(node_selector={"runtime": "kata"}))
    assert refusal.value.message == (
        'pods "web" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[runtime] = gvisor; '
        "pod.spec.nodeSelector[runtime] = kata"
    )


def test_a_class_that_is_not_there_is_refused_where_classes_are_required() -> None:
    assert _store().create(_pod("kata")).spec.overhead == {}
    with pytest.raises(Forbidden, match='pod rejected: RuntimeClass "kata" not found'):
        _store(is_required=True).create(_pod("kata"))


def test_overhead_without_a_class_is_refused_where_classes_are_required() -> None:
    message = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
    with pytest.raises(Forbidden, match=message):
        _store(is_required=True).create(_pod(None, overhead={"cpu": "1"}))


def test_a_new_class_counts_for_pods_that_share_a_spec() -> None:
    store = _store()
    spec = _pod("kata").spec
    store.create(api.Pod(metadata=api.ObjectMeta(name="a"), spec=spec))
    overhead = api.RuntimeClassOverhead(pod_fixed={"cpu": "1"})
    store.create(api.RuntimeClass(metadata=api.ObjectMeta(name="kata"), overhead=overhead))
    assert store.create(api.Pod(metadata=api.ObjectMeta(name="b"), spec=spec)).spec.overhead == {"cpu": "1"}
