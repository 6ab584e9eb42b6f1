# SPDX-License-Identifier: Apache-2.0
"""ResourceClaims as they reach the server: what differs, onto the version that was seen, again where others were faster."""

from __future__ import annotations

import msgspec
import pytest
from tests.client.api_server import ApiServer
from tests.client.dispatching import dispatching, stored
from tests.client.serving import run

from steersman import api
from steersman.kube.client.errors import ApiError
from steersman.testing import make_pod, make_resource_claim

PATH = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/gpu"
ALLOCATION = make_resource_claim("x").allocated(("r", "gpu.example.com", "p", "d"), on_node="n").obj().status.allocation
USER = api.ResourceClaimConsumerReference(resource="pods", name="train", uid="u")

_replace = msgspec.structs.replace


def allocated(claim: api.ResourceClaim) -> api.ResourceClaim:
    metadata = _replace(claim.metadata, finalizers=(*claim.metadata.finalizers, "protected"))
    status = _replace(claim.status, allocation=ALLOCATION, reserved_for=(*claim.status.reserved_for, USER))
    return _replace(claim, metadata=metadata, status=status)


def with_claim() -> tuple[ApiServer, api.ResourceClaim]:
    server = ApiServer()
    return server, server.store.create(make_resource_claim("gpu").asks("r", "any").obj())


def current(server: ApiServer) -> api.ResourceClaim:
    return server.store.get(api.ResourceClaim, "default/gpu")


def test_finalizer_and_allocation_are_written_one_after_the_other() -> None:
    async def scenario() -> None:
        server, claim = with_claim()
        async with dispatching(server) as dispatcher:
            written = await dispatcher.change_resource_claim(claim, allocated)
        assert written == current(server)
        assert written.metadata.finalizers == ("protected",)
        assert written.status.allocation == ALLOCATION
        assert written.status.reserved_for == (USER,)
        assert written.spec == claim.spec
        assert [r for r in server.requests if "resourceclaims" in r] == [f"PATCH {PATH}", f"PATCH {PATH}/status"]

    run(scenario())


def test_a_change_is_repeated_after_a_conflict() -> None:
    async def scenario() -> None:
        server, claim = with_claim()
        labelled = _replace(claim.metadata, labels={"seen": "too late"})
        server.store.update(_replace(claim, metadata=labelled))
        async with dispatching(server) as dispatcher:
            written = await dispatcher.change_resource_claim(claim, allocated)
        assert written.metadata.labels == {"seen": "too late"}
        assert written.status.allocation == ALLOCATION

    run(scenario())


def test_a_change_that_has_become_pointless_is_not_made() -> None:
    async def scenario() -> None:
        server, claim = with_claim()
        server.store.update_status(_replace(claim, status=api.ResourceClaimStatus(allocation=ALLOCATION)))

        def refuse_allocated(latest: api.ResourceClaim) -> api.ResourceClaim:
            if latest.status.allocation is not None:
                raise ValueError("somebody else has allocated it")
            return allocated(latest)

        async with dispatching(server) as dispatcher:
            with pytest.raises(ValueError, match="somebody else"):
                await dispatcher.change_resource_claim(claim, refuse_allocated)
        assert current(server).status.reserved_for == ()

    run(scenario())


def test_devices_are_given_back() -> None:
    async def scenario() -> None:
        server, claim = with_claim()
        async with dispatching(server) as dispatcher:
            written = await dispatcher.change_resource_claim(claim, allocated)
            await dispatcher.change_resource_claim(written, lambda c: _replace(c, status=api.ResourceClaimStatus()))
        assert current(server).status == api.ResourceClaimStatus()

    run(scenario())


def test_only_the_time_of_an_allocation_is_ever_changed() -> None:
    def stamped(claim: api.ResourceClaim) -> api.ResourceClaim:
        assert claim.status.allocation is not None
        allocation = _replace(claim.status.allocation, allocation_timestamp="2031-01-01T00:00:00Z")
        return _replace(claim, status=_replace(claim.status, allocation=allocation))

    async def scenario() -> None:
        server, claim = with_claim()
        async with dispatching(server) as dispatcher:
            written = await dispatcher.change_resource_claim(claim, allocated)
            await dispatcher.change_resource_claim(written, stamped)
        allocation = current(server).status.allocation
        assert allocation is not None
        assert ALLOCATION is not None
        assert allocation.allocation_timestamp == "2031-01-01T00:00:00Z"
        assert allocation.devices == ALLOCATION.devices

    run(scenario())


def test_nothing_is_sent_when_nothing_changes() -> None:
    async def scenario() -> None:
        server, claim = with_claim()
        async with dispatching(server) as dispatcher:
            assert await dispatcher.change_resource_claim(claim, lambda c: c) == claim
        assert server.asked("PATCH") == 0

    run(scenario())


def test_claims_for_extended_resources_are_created_deleted_and_reported() -> None:
    async def scenario() -> None:
        server = ApiServer()
        pod = server.store.create(make_pod("train").obj())
        meta = api.ObjectMeta(generate_name="train-extended-resources-", namespace="default")
        async with dispatching(server) as dispatcher:
            claim = await dispatcher.create_resource_claim(api.ResourceClaim(metadata=meta))
            assert claim.metadata.name.startswith("train-extended-resources-")
            status = api.PodExtendedResourceClaimStatus(resource_claim_name=claim.metadata.name)
            await dispatcher.set_extended_resource_claim(pod, status)
            assert stored(server, "train").status.extended_resource_claim_status == status
            await dispatcher.delete_resource_claim(claim)
            await dispatcher.delete_resource_claim(claim)
        assert not server.store.objects(api.ResourceClaim)

    run(scenario())


def test_a_refusal_is_raised() -> None:
    async def scenario() -> None:
        server, claim = with_claim()
        server.store.delete(api.ResourceClaim, "default/gpu")
        async with dispatching(server) as dispatcher:
            with pytest.raises(ApiError):
                await dispatcher.change_resource_claim(claim, allocated)

    run(scenario())
