# SPDX-License-Identifier: Apache-2.0
"""Pods that share a spec are completed alike, unless something besides the spec has a say."""

from __future__ import annotations

from tests.embedded.stores import admitting_store

from steersman import api

SPEC = api.PodSpec(containers=(api.Container(name="main"),))
SELECTOR = api.LabelSelector(match_labels={"app": "web"})


def pod(name: str, spec: api.PodSpec = SPEC, **labels: str) -> api.Pod:
    return api.Pod(metadata=api.ObjectMeta(name=name, labels=labels), spec=spec)


def test_pods_that_came_with_one_spec_are_stored_with_one() -> None:
    store = admitting_store()
    first, second = store.create(pod("a")), store.create(pod("b"))
    assert first.spec is second.spec
    assert first.spec.scheduler_name == "default-scheduler"
    assert first.spec == admitting_store().create(pod("b")).spec


def test_a_default_priority_class_counts_from_the_moment_it_exists() -> None:
    store = admitting_store()
    assert store.create(pod("before")).spec.priority == 0
    store.create(api.PriorityClass(metadata=api.ObjectMeta(name="usual"), value=7, global_default=True))
    assert store.create(pod("with")).spec.priority == 7
    store.delete(api.PriorityClass, "usual")
    assert store.create(pod("after")).spec.priority == 0


def test_the_named_class_is_looked_up_for_every_pod() -> None:
    store, named = admitting_store(), api.PodSpec(priority_class_name="system-node-critical")
    first, second = store.create(pod("a", named)), store.create(pod("b", named))
    assert first.spec.priority == second.spec.priority == 2_000_001_000


def test_labels_that_become_part_of_selectors_are_each_pods_own() -> None:
    store = admitting_store()
    constraint = api.TopologySpreadConstraint(label_selector=SELECTOR, topology_key="z", match_label_keys=("rev",))
    spread = api.PodSpec(topology_spread_constraints=(constraint,))
    term = api.PodAffinityTerm(label_selector=SELECTOR, topology_key="z", match_label_keys=("rev",))
    apart = api.PodSpec(
        affinity=api.Affinity(
            pod_anti_affinity=api.PodAntiAffinity(
                preferred_during_scheduling_ignored_during_execution=(
                    api.WeightedPodAffinityTerm(weight=1, pod_affinity_term=term),
                )
            )
        )
    )
    for spec in (spread, apart):
        specs = [store.create(pod(f"{rev}-{id(spec)}", spec, rev=rev)).spec for rev in ("1", "2")]
        assert specs[0] != specs[1]


def test_gated_pods_of_one_spec_have_the_condition_each() -> None:
    store, gated = admitting_store(), api.PodSpec(scheduling_gates=(api.PodSchedulingGate(name="hold"),))
    for name in ("a", "b"):
        (condition,) = store.create(pod(name, gated)).status.conditions
        assert condition.reason == "SchedulingGated"
