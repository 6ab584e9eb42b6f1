# SPDX-License-Identifier: Apache-2.0
"""Extended resources that devices stand behind: the scheduler makes a claim for them."""

from __future__ import annotations

import msgspec
from tests.plugins.dynamic_resources.handle import OnePlugin

from steersman import api
from steersman.framework.device_classes import DeviceClasses
from steersman.framework.status import SKIP
from steersman.scheduler.plugins.dynamic_resources import extended_resources
from steersman.scheduler.state.objects import ObjectStore
from steersman.testing import make_device_class, make_node, make_pod, make_slice

GPU = "example.com/gpu"
CLASS = make_device_class("gpus").backs(GPU)
SLICE = make_slice("a").on_node("a").device("a0").device("a1")
NODES = [make_node("a").info(), make_node("plugin").capacity(**{GPU: "4"}).info(), make_node("bare").info()]
POD = make_pod("train").req(**{GPU: "2"})


def cluster(gates: dict[str, bool] | None = None) -> OnePlugin:
    return OnePlugin(CLASS, SLICE, nodes=NODES, gates=gates)


def test_nodes_provide_devices_or_the_resource_itself() -> None:
    assert cluster().reasons(POD.info()) == {"a": "", "plugin": "", "bare": "cannot allocate all claims"}


def test_the_class_can_be_requested_by_its_own_name() -> None:
    pod = make_pod("train").req(**{"deviceclass.resource.kubernetes.io/gpus": "2"})
    assert cluster().reasons(pod.info())["a"] == ""


def test_a_resource_without_a_provider_does_not_fit() -> None:
    pod = make_pod("train").req(**{GPU: "1", "example.com/tpu": "1"})
    assert set(cluster().reasons(pod.info()).values()) == {"cannot fit resource"}


def test_without_the_gate_it_is_none_of_its_business() -> None:
    assert cluster({"DRAExtendedResource": False}).pre_filter(POD.info()) == SKIP


def test_a_claim_is_created_for_the_devices_and_the_pod_is_reported() -> None:
    one, pod = cluster(), POD.info()
    one.place(pod, "a")
    claim = one.claim("train-extended-resources-x")
    assert claim.metadata.annotations == {extended_resources.ANNOTATION: "true"}
    assert [owner.uid for owner in claim.metadata.owner_references] == [pod.uid]
    assert [user.name for user in claim.status.reserved_for] == ["train"]
    assert one.devices("train-extended-resources-x") == ["a0", "a1"]
    (told,) = one.handle.resource_claims.told
    assert told.resource_claim_name == "train-extended-resources-x"
    assert [(m.resource_name, m.request_name) for m in told.request_mappings] == [(GPU, "container-0-request-0")]
    assert one.reasons(make_pod("next").req(**{GPU: "1"}).info())["a"] == "cannot allocate all claims"


def test_devices_are_taken_while_the_claim_is_not_written() -> None:
    one, pod = cluster(), POD.info()
    assert one.take(pod, "a") is None
    assert one.reasons(make_pod("next").req(**{GPU: "1"}).info())["a"] == "cannot allocate all claims"


def test_a_pod_that_loses_its_node_loses_the_claim() -> None:
    one, pod = cluster(), POD.info()
    one.place(pod, "a")
    one.plugin.unreserve(one.state, pod, "a")
    assert one.handle.resource_claims.deleted == ["train-extended-resources-x"]
    assert one.reasons(make_pod("next").req(**{GPU: "1"}).info())["a"] == ""


def test_nothing_is_created_where_the_node_has_the_resource() -> None:
    one, pod = cluster(), POD.info()
    one.place(pod, "plugin")
    assert not one.handle.store.list(api.ResourceClaim)
    assert one.handle.resource_claims.told == []


# -- requests and containers ---------------------------------------------------------------------------------------------


def asked(pod: api.Pod) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Counts by request, and which container uses which request."""
    store = ObjectStore()
    store.put(CLASS.obj())
    made = extended_resources.claim_for_node(extended_resources.claim_in_memory(pod), pod, [GPU], DeviceClasses(store))
    counts = {r.name: r.exactly.count for r in made.claim.spec.devices.requests if r.exactly is not None}
    return counts, [(m.container_name, m.request_name) for m in made.mappings]


def pod_of(*containers: tuple[str, int], init: tuple[tuple[str, int, bool], ...] = ()) -> api.Pod:
    def container(name: str, count: int, sidecar: bool = False) -> api.Container:
        resources = api.ResourceRequirements(requests={"cpu": "1", GPU: count} if count else {"cpu": "1"})
        return api.Container(name=name, resources=resources, restart_policy="Always" if sidecar else None)

    pod = make_pod("train").obj()
    spec = msgspec.structs.replace(
        pod.spec,
        containers=tuple(container(*one) for one in containers),
        init_containers=tuple(container(*one) for one in init),
    )
    return msgspec.structs.replace(pod, spec=spec)


def test_every_container_has_a_request_of_its_own() -> None:
    counts, uses = asked(pod_of(("a", 1), ("b", 0), ("c", 2)))
    assert counts == {"container-0-request-1": 1, "container-2-request-1": 2}
    assert uses == [("a", "container-0-request-1"), ("c", "container-2-request-1")]


def test_a_container_that_ends_first_uses_the_devices_of_those_that_follow() -> None:
    counts, uses = asked(pod_of(("main", 2), init=(("setup", 1, False),)))
    assert counts == {"container-1-request-1": 2}
    assert uses == [("main", "container-1-request-1"), ("setup", "container-1-request-1")]


def test_what_it_needs_beyond_is_requested_once_for_the_neediest() -> None:
    counts, uses = asked(pod_of(("main", 1), init=(("s1", 2, False), ("s2", 4, False))))
    assert counts == {"container-1-request-1": 3, "container-2-request-1": 1}
    assert ("s1", "container-1-request-1") in uses
    assert ("s2", "container-1-request-1") in uses


def test_a_sidecar_keeps_its_devices() -> None:
    counts, _ = asked(pod_of(("main", 1), init=(("side", 1, True), ("setup", 2, False))))
    assert counts == {"container-0-request-1": 1, "container-1-request-1": 1, "container-2-request-1": 1}


# -- classes -------------------------------------------------------------------------------------------------------------


def class_behind(resource: str, *classes: api.DeviceClass) -> str | None:
    store = ObjectStore()
    for one in classes:
        store.put(one)
    found = DeviceClasses(store).behind(resource)
    return None if found is None else found.metadata.name


def test_of_two_classes_with_one_resource_the_younger_counts_then_the_first_by_name() -> None:
    old = make_device_class("old").backs(GPU).created("2030-01-01T00:00:00Z").obj()
    new = make_device_class("new").backs(GPU).created("2031-01-01T00:00:00Z").obj()
    twin = make_device_class("newer").backs(GPU).created("2031-01-01T00:00:00Z").obj()
    assert class_behind(GPU, old, new) == class_behind(GPU, new, old) == "new"
    assert class_behind(GPU, twin, new) == class_behind(GPU, new, twin) == "new"


def test_a_class_that_changes_is_noticed() -> None:
    store = ObjectStore()
    store.put(CLASS.obj())
    classes = DeviceClasses(store)
    assert classes.behind(GPU) is not None
    store.put(CLASS.backs("example.com/tpu").obj())
    assert classes.behind(GPU) is None
    assert classes.behind("example.com/tpu") is not None
