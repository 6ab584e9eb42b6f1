# SPDX-License-Identifier: Apache-2.0
"""Devices on a real API server: the same devices for the same claims, written the same way."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest
from tests.e2e.comparing import EACH_VERSION, Both, run_both

from steersman import api
from steersman.testing import (
    PodBuilder,
    SliceBuilder,
    make_device,
    make_device_class,
    make_node,
    make_pod,
    make_resource_claim,
    make_slice,
)
from steersman.testing.control_plane import ControlPlane, JsonObject, KubeClient, bound_to, manifest

pytestmark = EACH_VERSION

SHARED = "shared.example.com"
PARTS = "parts.example.com"
GPU = "example.com/gpu"
H100 = 'device.attributes["gpu.example.com"].model == "h100"'


def pod(name: str, *claims: str) -> PodBuilder:
    made = make_pod(name).req(cpu="100m")
    for claim in claims:
        made = made.resource_claim(claim)
    return made


def partition(name: str, memory: str) -> api.Device:
    taken = api.DeviceCounterConsumption(counter_set="card", counters={"memory": api.Counter(value=memory)})
    return api.Device(name=name, consumes_counters=(taken,))


def of_driver(driver: str) -> str:
    return f'device.driver == "{driver}"'


CLASSES = [
    make_device_class("gpu").selects(of_driver("gpu.example.com")).configures("gpu.example.com", sharing="none"),
    make_device_class("shared").selects(of_driver(SHARED)),
    make_device_class("parts").selects(of_driver(PARTS)),
    make_device_class("backing").selects(of_driver("back.example.com")).backs(GPU),
]
_CAPACITY = {
    "memory": api.DeviceCapacity(
        value="10Gi",
        request_policy=api.CapacityRequestPolicy(
            default="1Gi", valid_range=api.CapacityRequestPolicyRange(min="1Gi", step="1Gi")
        ),
    )
}
SLICES: list[SliceBuilder] = [
    make_slice("gpu")
    .on_node("big")
    .devices(
        make_device("g0", model="a100", numa=0),
        make_device("g1", model="h100", numa=1),
        make_device("g2", model="a100", numa=1),
    ),
    make_slice("net")
    .driver(SHARED)
    .where("kubernetes.io/hostname", "small")
    .devices(api.Device(name="s0", capacity=_CAPACITY, allow_multiple_allocations=True)),
    make_slice("counters").driver(PARTS).pool("card", slices=2).on_node("small").counters("card", memory="40Gi"),
    make_slice("parts")
    .driver(PARTS)
    .pool("card", slices=2)
    .on_node("small")
    .devices(partition("whole", "40Gi"), partition("half", "20Gi")),
    make_slice("back").driver("back.example.com").on_node("big").device("b0").device("b1"),
]
CLAIMS = [
    make_resource_claim("fast").asks("r", "gpu", H100),
    make_resource_claim("pair").asks_for_first("r", three=("gpu", 3), two=("gpu", 2)),
    make_resource_claim("never").asks("r", "gpu", count=2).matching("gpu.example.com/nothing"),
    make_resource_claim("share").asks("r", "shared", capacity=api.CapacityRequirements(requests={"memory": "1536Mi"})),
    make_resource_claim("part").asks("r", "parts"),
    make_resource_claim("tolerant").asks(
        "r", "shared", tolerations=(api.DeviceToleration(key="k", operator="Exists", effect="NoSchedule"),)
    ),
]
#: One after the other, so that both schedulers find the same devices free.
PODS = [
    pod("1-fast", "fast"),
    pod("2-fast-too", "fast"),
    pod("3-pair", "pair"),
    pod("4-never", "never"),
    pod("5-share", "share"),
    pod("6-part", "part"),
    pod("7-tolerant", "tolerant"),
    make_pod("8-extended").req(cpu="100m", **{GPU: "2"}),
    make_pod("9-too-much").req(cpu="100m", **{GPU: "1"}),
]


def node(name: str) -> JsonObject:
    return manifest(make_node(name).capacity(cpu="4", memory="8Gi", pods="50").label("kubernetes.io/hostname", name))


def prepare(admin: KubeClient) -> None:
    admin.create_nodes(node("big"), node("small"))
    objects: list[api.Object] = [one.obj() for one in CLASSES]
    objects += [one.obj() for one in SLICES]
    objects += [one.obj() for one in CLAIMS]
    admin.create_many([manifest(one) for one in objects])


def place(admin: KubeClient) -> None:
    for one in PODS:
        made = admin.create(manifest(one))
        name = str(made["metadata"]["name"])
        admin.wait_until(partial(is_decided, admin, name), what=f"a decision on {name}")


def is_decided(admin: KubeClient, name: str) -> bool:
    pod = admin.get("Pod", name)
    return bool(bound_to(pod) or pod["status"].get("conditions"))


def allocations(admin: KubeClient) -> dict[str, Any]:
    """Claims without what is different in every run."""
    found = {}
    for claim in admin.list("ResourceClaim"):
        name = re.sub(r"(extended-resources-).*", r"\1", claim["metadata"]["name"])
        status = claim.get("status", {})
        allocation = status.get("allocation", {})
        allocation.pop("allocationTimestamp", None)
        for result in allocation.get("devices", {}).get("results", ()):
            if "shareID" in result:
                result["shareID"] = "…"
        users = [(user.get("resource"), user["name"]) for user in status.get("reservedFor", ())]
        found[name] = {
            "spec": claim["spec"],
            "allocation": allocation,
            "users": users,
            "finalizers": claim["metadata"].get("finalizers"),
            "annotations": claim["metadata"].get("annotations"),
            "owners": [owner["name"] for owner in claim["metadata"].get("ownerReferences", ())],
        }
    return found


Claims = list[dict[str, Any]]


@pytest.fixture(scope="module")
def found(shared_plane: ControlPlane) -> tuple[Both, Claims, list[JsonObject]]:
    claims: Claims = []
    told: list[JsonObject] = []

    def look(admin: KubeClient) -> None:
        place(admin)
        claims.append(allocations(admin))
        status = admin.get("Pod", "8-extended")["status"].get("extendedResourceClaimStatus", {})
        told.append({**status, "resourceClaimName": status.get("resourceClaimName", "").rpartition("-")[0]})

    return run_both(shared_plane, prepare, act=look), claims, told


def test_claims_are_allocated_as_kube_scheduler_allocates_them(found: tuple[Both, Claims, list[JsonObject]]) -> None:
    _, (upstream, ours), _ = found
    assert ours == upstream
    assert [result["device"] for result in ours["pair"]["allocation"]["devices"]["results"]] == ["g0", "g2"]
    assert ours["share"]["allocation"]["devices"]["results"][0]["consumedCapacity"] == {"memory": "2Gi"}
    assert ours["fast"]["users"] == [("pods", "1-fast"), ("pods", "2-fast-too")]


def test_pods_are_told_what_kube_scheduler_tells_them(found: tuple[Both, Claims, list[JsonObject]]) -> None:
    both, _, (upstream, ours) = found
    assert both.steersman.pods == both.upstream.pods
    assert both.steersman.node("8-extended") == "big"
    assert ours == upstream
    assert ours["requestMappings"]


def test_devices_behind_a_configured_resource_count_in_scores(shared_plane: ControlPlane) -> None:
    """The fullest node is the one with the fewest devices of the class, whatever else it has."""
    strategy = {"type": "MostAllocated", "resources": [{"name": GPU, "weight": 1}]}
    args = {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
    fit_only = {"score": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]}}
    profile = {"schedulerName": "default-scheduler", "plugins": fit_only, "pluginConfig": [args]}

    def many_and_few(admin: KubeClient) -> None:
        admin.create_nodes(node("many"), node("few"))
        many = make_slice("many").driver("back.example.com").on_node("many")
        few = make_slice("few").driver("back.example.com").on_node("few")
        for name in "abcd":
            many = many.device(name)
        objects: list[api.Object] = [CLASSES[-1].obj(), many.obj(), few.device("a").device("b").obj()]
        admin.create_many([manifest(one) for one in objects])
        admin.create(manifest(make_pod("train").req(cpu="100m", **{GPU: 1})))

    both = run_both(shared_plane, many_and_few, config={"profiles": [profile]})
    assert both.steersman.node("train") == both.upstream.node("train") == "few"


def test_an_unusable_allocation_is_dropped_and_made_again(shared_plane: ControlPlane) -> None:
    claims: Claims = []
    stuck = (
        make_resource_claim("stuck").asks("r", "gpu").allocated(("r", "gpu.example.com", "gone", "g"), on_node="gone")
    )

    def prepare_stuck(admin: KubeClient) -> None:
        prepare(admin)
        admin.create_with_status(manifest(stuck))
        admin.create(manifest(pod("unstuck", "stuck")))

    def look(admin: KubeClient) -> None:
        admin.wait_until(lambda: bound_to(admin.get("Pod", "unstuck")), what="a node")
        claims.append(allocations(admin)["stuck"])

    both = run_both(shared_plane, prepare_stuck, act=look)
    upstream, ours = claims
    assert ours == upstream
    assert [result["device"] for result in ours["allocation"]["devices"]["results"]] == ["g0"]
    assert both.steersman.pods == both.upstream.pods
    assert both.steersman.events_of("unstuck") == both.upstream.events_of("unstuck")
