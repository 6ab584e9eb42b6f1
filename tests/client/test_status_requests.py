# SPDX-License-Identifier: Apache-2.0
"""Conditions, nominations, deletions and volumes as they reach the server."""

from __future__ import annotations

import msgspec
import pytest
from tests.client.api_server import ApiServer
from tests.client.dispatching import dispatching, stored
from tests.client.serving import run

from steersman import api
from steersman.framework import Failure
from steersman.framework.pod_info import PodShapes
from steersman.framework.ports import CLEARED, Nomination
from steersman.kube.client.errors import ApiError
from steersman.kube.client.status_updates import StatusUpdate, patch_for
from steersman.testing import make_pod, make_pod_group

READY = api.Condition(type="Ready", status="False")


def test_a_condition_without_a_message_replaces_the_message_of_the_earlier_one() -> None:
    gang = make_pod_group("gang").gang(1).obj()
    waited = api.Condition(type=api.INITIALLY_SCHEDULED, status="False", reason="Unschedulable", message="no room")
    gang = msgspec.structs.replace(gang, status=msgspec.structs.replace(gang.status, conditions=(waited,)))
    scheduled = api.Condition(type=api.INITIALLY_SCHEDULED, status="True", reason="Scheduled")

    assert b'"message":""' in (patch_for(StatusUpdate(gang, scheduled), 0.0) or b"")


def test_a_failure_becomes_a_condition_beside_the_others() -> None:
    async def scenario() -> None:
        server, pod = _with_pod(conditions=(READY,))
        async with dispatching(server) as dispatcher:
            dispatcher.report_failure(Failure(pod, "Unschedulable", "0/1 nodes are available", Nomination("n1")))
            await dispatcher.drain()
        status = stored(server, "web").status
        ready, scheduled = status.conditions
        assert ready == READY
        assert (scheduled.type, scheduled.status, scheduled.reason) == ("PodScheduled", "False", "Unschedulable")
        assert scheduled.message == "0/1 nodes are available"
        assert scheduled.observed_generation == pod.metadata.generation
        assert status.nominated_node_name == "n1"

    run(scenario())


def test_what_already_is_as_wanted_is_not_sent() -> None:
    condition = api.Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")
    pod = make_pod("web").obj()
    pod = msgspec.structs.replace(pod, status=api.PodStatus(conditions=(condition,), nominated_node_name="n1"))
    assert patch_for(StatusUpdate(pod, condition, "n1"), 0.0) is None
    assert patch_for(StatusUpdate(pod), 0.0) is None


def test_the_time_of_a_condition_changes_only_with_its_status() -> None:
    old = api.Condition(type="PodScheduled", status="False", message="no", last_transition_time="2020-01-01T00:00:00Z")
    pod = msgspec.structs.replace(make_pod("web").obj(), status=api.PodStatus(conditions=(old,)))
    same = msgspec.structs.replace(old, message="still no")
    other = msgspec.structs.replace(old, status="True")
    assert b'"lastTransitionTime":"2020-01-01T00:00:00Z"' in (patch_for(StatusUpdate(pod, same), 0.0) or b"")
    assert b'"lastTransitionTime":"1970-01-01T00:00:00Z"' in (patch_for(StatusUpdate(pod, other), 0.0) or b"")


def test_a_nomination_is_taken_back_even_if_its_echo_has_not_come_yet() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        async with dispatching(server) as dispatcher:
            assert await dispatcher.patch_pod_status(pod, nominated_node_name="n1")
            assert stored(server, "web").status.nominated_node_name == "n1"
            dispatcher.report_failure(Failure(pod, "Unschedulable", "no", CLEARED))
            await dispatcher.drain()
        assert stored(server, "web").status.nominated_node_name == ""

    run(scenario())


def test_of_failures_that_wait_only_the_last_is_sent() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        async with dispatching(server) as dispatcher:
            server.faults.flowing.clear()
            dispatcher.report_failure(Failure(pod, "Unschedulable", "first", Nomination("n1")))
            dispatcher.report_failure(Failure(pod, "Unschedulable", "second", None))
            server.faults.flowing.set()
            await dispatcher.drain()
        assert stored(server, "web").status.conditions[0].message == "second"
        assert stored(server, "web").status.nominated_node_name == "n1"
        assert server.asked("PATCH /api/v1/namespaces/default/pods/web/status") == 1

    run(scenario())


def test_a_failure_that_waits_does_not_follow_the_binding() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        async with dispatching(server) as dispatcher:
            dispatcher.report_failure(Failure(pod, "Unschedulable", "no", None))
            assert await dispatcher.bind(PodShapes().info(pod), "n1") is None
            await dispatcher.drain()
        assert [(c.type, c.status) for c in stored(server, "web").status.conditions] == [("PodScheduled", "True")]

    run(scenario())


def test_the_status_of_a_pod_that_is_gone_or_another_is_left_alone() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        server.store.delete(api.Pod, "default/web")
        async with dispatching(server) as dispatcher:
            assert not await dispatcher.patch_pod_status(pod, condition=READY)
            server.store.create(make_pod("web").uid("another").obj())
            assert not await dispatcher.patch_pod_status(pod, condition=READY)
        assert stored(server, "web").status.conditions == ()

    run(scenario())


def test_a_victim_is_deleted_if_it_is_still_the_same() -> None:
    async def scenario() -> None:
        server, pod = _with_pod()
        async with dispatching(server) as dispatcher:
            other = msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid="another"))
            assert not await dispatcher.delete_pod(other)
            assert await dispatcher.delete_pod(pod)
            assert not await dispatcher.delete_pod(pod)

    run(scenario())


def test_volumes_and_claims_are_written_onto_the_version_that_was_seen() -> None:
    async def scenario() -> None:
        server = ApiServer()
        volume = server.store.create(api.PersistentVolume(metadata=api.ObjectMeta(name="v")))
        claim = server.store.create(api.PersistentVolumeClaim(metadata=api.ObjectMeta(name="c", namespace="default")))
        reference = api.ObjectReference(kind="PersistentVolumeClaim", name="c", namespace="default")
        async with dispatching(server) as dispatcher:
            spec = msgspec.structs.replace(volume.spec, claim_ref=reference)
            written = await dispatcher.update_volume(msgspec.structs.replace(volume, spec=spec))
            assert written == server.store.get(api.PersistentVolume, "v")
            assert written.spec.claim_ref == reference
            annotated = msgspec.structs.replace(claim.metadata, annotations={"selected-node": "n1"})
            bound = await dispatcher.update_claim(msgspec.structs.replace(claim, metadata=annotated))
            assert bound.metadata.annotations == {"selected-node": "n1"}
            with pytest.raises(ApiError, match="the object has been modified"):
                await dispatcher.update_volume(volume)

    run(scenario())


def _with_pod(conditions: tuple[api.Condition, ...] = ()) -> tuple[ApiServer, api.Pod]:
    server = ApiServer()
    pod = make_pod("web").obj()
    status = msgspec.structs.replace(pod.status, conditions=conditions)
    return server, server.store.create(msgspec.structs.replace(pod, status=status))
