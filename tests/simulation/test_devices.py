# SPDX-License-Identifier: Apache-2.0
"""Devices in a simulation: claims from templates, extended resources, and what comes back when pods end."""

from __future__ import annotations

import msgspec

from steersman import api
from steersman.testing import (
    Harness,
    PodBuilder,
    make_device_class,
    make_node,
    make_pod,
    make_resource_claim,
    make_slice,
)

GPU = "example.com/gpu"
TEMPLATE = api.ResourceClaimTemplate(
    metadata=api.ObjectMeta(name="gpus", namespace="default"),
    spec=api.ResourceClaimTemplateSpec(spec=make_resource_claim("c").asks("r", "gpu").obj().spec),
)


def cluster() -> Harness:
    model = 'device.attributes["gpu.example.com"].model == "h100"'
    return Harness(
        nodes=[make_node(name).capacity(cpu="8", memory="16Gi", pods="110") for name in ("a", "b")],
        objects=[
            make_device_class("gpu").selects(model).backs(GPU).obj(),
            make_slice("a").on_node("a").device("old", model="a100").device("a0", model="h100").obj(),
            make_slice("b").on_node("b").device("b0", model="h100").obj(),
            TEMPLATE,
        ],
    )


def templated(name: str) -> api.Pod:
    pod = make_pod(name).req(cpu="1").obj()
    reference = api.PodResourceClaim(name="gpu", resource_claim_template_name="gpus")
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, resource_claims=(reference,)))


def allocated(harness: Harness) -> dict[str, list[str]]:
    """Devices by the name of the pod that has them."""
    return {
        claim.status.reserved_for[0].name: [result.device for result in claim.status.allocation.devices.results]
        for claim in harness.cluster.objects(api.ResourceClaim).values()
        if claim.status.allocation is not None
    }


def extended(name: str) -> PodBuilder:
    return make_pod(name).req(cpu="1", **{GPU: "1"})


def test_pods_get_the_devices_that_they_select_until_there_are_no_more() -> None:
    with cluster() as harness:
        nodes = {harness.place(templated("one")), harness.place(templated("two"))}
        assert nodes == {"a", "b"}
        assert sorted(allocated(harness).values()) == [["a0"], ["b0"]]
        harness.add(templated("three"))
        harness.run()
        assert "cannot allocate all claims" in harness.message(templated("three"))


def test_a_pod_that_ends_leaves_its_devices_to_the_next() -> None:
    with cluster() as harness:
        for name in ("one", "two", "three"):
            harness.add(templated(name))
        harness.run()
        assert len(allocated(harness)) == 2
        gone = next(iter(allocated(harness)))
        harness.delete(harness.cluster.get(api.Pod, f"default/{gone}"))
        harness.advance(60)
        assert len(allocated(harness)) == 2
        assert gone not in allocated(harness)


def test_extended_resources_become_claims() -> None:
    with cluster() as harness:
        node = harness.place(extended("one"))
        (claim,) = harness.cluster.objects(api.ResourceClaim).values()
        assert claim.metadata.name.startswith("one-extended-resources-")
        assert allocated(harness) == {"one": [f"{node}0"]}
        told = harness.cluster.get(api.Pod, "default/one").status.extended_resource_claim_status
        assert told is not None
        assert told.resource_claim_name == claim.metadata.name
        harness.place(extended("two"))
        harness.add(extended("three"))
        harness.run()
        assert "cannot allocate all claims" in harness.message(extended("three"))


def test_a_claim_that_pods_share_takes_them_to_one_node() -> None:
    with cluster() as harness:
        harness.add(make_resource_claim("shared").asks("r", "gpu").obj())
        pods = [make_pod(f"p{n}").req(cpu="1").resource_claim("shared") for n in range(3)]
        assert len({harness.place(pod) for pod in pods}) == 1
        (claim,) = harness.cluster.objects(api.ResourceClaim).values()
        assert len(claim.status.reserved_for) == 3


def test_an_allocation_that_cannot_be_used_is_given_up_and_made_again() -> None:
    with cluster() as harness:
        harness.add(
            make_resource_claim("stuck")
            .asks("r", "gpu")
            .allocated(("r", "gpu.example.com", "z", "d"), on_node="z")
            .obj()
        )
        pod = make_pod("train").req(cpu="1").resource_claim("stuck")
        harness.add(pod)
        harness.advance(120)
        assert harness.cluster.get(api.Pod, "default/train").spec.node_name in ("a", "b")
