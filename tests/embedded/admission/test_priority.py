# SPDX-License-Identifier: Apache-2.0
"""Pods get the priority of their class."""

from __future__ import annotations

import pytest
from tests.embedded.stores import admitting_store, pod, raw, with_spec

from steersman import api
from steersman.cluster.store import Forbidden, Store
from steersman.testing import make_pod


def _class(name: str, value: int, *, default: bool = False, policy: str | None = None) -> api.PriorityClass:
    meta = api.ObjectMeta(name=name)
    return api.PriorityClass(metadata=meta, value=value, global_default=default, preemption_policy=policy)


def _store(*classes: api.PriorityClass) -> Store:
    store = admitting_store()
    for known in classes:
        store.create(known)
    return store


def _of_class(name: str, **fields: object) -> api.Pod:
    return with_spec(raw(make_pod("web")), priority_class_name=name, **fields)


def test_the_class_gives_priority_and_preemption_policy() -> None:
    spec = _store(_class("high", 1000, policy="Never")).create(_of_class("high")).spec
    assert (spec.priority, spec.preemption_policy) == (1000, "Never")


def test_a_class_lets_its_pods_preempt_unless_it_says_otherwise() -> None:
    spec = _store(_class("high", 1000)).create(_of_class("high")).spec
    assert spec.preemption_policy == "PreemptLowerPriority"


@pytest.mark.parametrize(
    ("name", "value"), [("system-cluster-critical", 2000000000), ("system-node-critical", 2000001000)]
)
def test_every_cluster_has_the_system_classes(name: str, value: int) -> None:
    assert _store().create(_of_class(name)).spec.priority == value


def test_a_class_that_does_not_exist_is_refused() -> None:
    store = _store()
    with pytest.raises(Forbidden, match='pods "web" is forbidden: no PriorityClass with name high was found'):
        store.create(_of_class("high"))
    assert not store.objects(api.Pod)


def test_without_a_class_the_priority_is_zero() -> None:
    spec = _store(_class("high", 1000)).create(raw(make_pod())).spec
    assert (spec.priority, spec.preemption_policy, spec.priority_class_name) == (0, "PreemptLowerPriority", "")


def test_a_global_default_is_the_class_of_pods_without_one() -> None:
    spec = _store(_class("high", 1000), _class("base", 50, default=True, policy="Never")).create(raw(make_pod())).spec
    assert (spec.priority, spec.preemption_policy, spec.priority_class_name) == (50, "Never", "base")


def test_a_second_global_default_is_refused() -> None:
    store = _store(_class("base", 50, default=True))
    with pytest.raises(Forbidden, match="PriorityClass base is already marked as default"):
        store.create(_class("other", 60, default=True))


def test_the_global_default_can_be_updated() -> None:
    store = _store(_class("base", 50, default=True))
    updated = store.update(api.PriorityClass(api.ObjectMeta(name="base"), 50, True, "described"))
    assert updated.description == "described"


def test_a_stated_priority_is_kept() -> None:
    store = _store(_class("high", 1000, policy="Never"))
    assert store.create(_of_class("high", priority=7)).spec.priority == 7
    assert pod(store).spec.preemption_policy == "Never"


def test_a_stated_priority_needs_no_class() -> None:
    store = _store(_class("base", 50, default=True))
    assert store.create(raw(make_pod("a").priority(7))).spec.priority == 7
    assert store.create(_of_class("gone", priority=7)).spec.priority == 7


def test_an_update_keeps_priority_and_policy() -> None:
    store = _store(_class("high", 1000, policy="Never"))
    store.create(_of_class("high"))
    updated = store.update(_of_class("high", restart_policy="Never"))
    assert (updated.spec.priority, updated.spec.preemption_policy) == (1000, "Never")
