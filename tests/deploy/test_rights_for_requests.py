# SPDX-License-Identifier: Apache-2.0
"""Every request that the scheduler makes is allowed, and every right to write is used by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

import msgspec
from tests.deploy.shipped import manifests
from tests.deploy.test_rights import Rights, granted

from steersman import api
from steersman.base.clock import ManualClock
from steersman.base.timing import Timing
from steersman.framework import Failure
from steersman.framework.pod_info import PodShapes
from steersman.kube.client.dispatcher import Dispatcher
from steersman.kube.client.errors import ApiError
from steersman.kube.client.events import EventRecorder
from steersman.kube.client.requests import NO_QUERY, Query, Request, Response
from steersman.kube.serving import ApiReviews, User
from steersman.testing import make_claim, make_pod, make_pod_group, make_volume

VERBS: Final = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Ledger:
    """A transport that keeps which rights each request needs. A binding meets a conflict: it was made before. So does the
    first allocation of a claim: somebody else has written it."""

    def __init__(self) -> None:
        self.used: Rights = {}
        self.conflicts = 0

    async def request(self, request: Request, /) -> Response:
        method, path, body = request.method, request.path, request.body
        self.used.setdefault(resource_of(path), set()).add(VERBS[method])
        if path.endswith("/resourceclaims/gpu/status"):
            # Whoever writes allocations must have the same right to this as well, since v1.36.
            self.used.setdefault(("resource.k8s.io", "resourceclaims/binding"), set()).add(VERBS[method])
            if b"allocation" in (body or b"") and not self.conflicts:
                self.conflicts += 1
                raise ApiError(409, "Conflict", "the object has been modified")
        if path.endswith("/binding"):
            raise ApiError(409, "Conflict", "bound already")
        return Response(200, b'{"metadata": {"name": "gpu", "namespace": "default"}}')

    async def stream(self, path: str, query: Query = NO_QUERY) -> AsyncGenerator[bytes, None]:
        raise AssertionError("nothing is watched here")
        yield b""


def resource_of(path: str) -> tuple[str, str]:
    """The API group, and the resource with its subresource."""
    root, *parts = path.strip("/").split("/")
    group = "" if root == "api" else parts.pop(0)
    del parts[0]  # the version
    if parts[0] == "namespaces" and len(parts) > 2:
        del parts[:2]
    return group, "/".join((parts[0], *parts[2:]))


async def make_every_request(ledger: Ledger) -> None:
    timing = Timing(clock=ManualClock(1_000_000.0))
    dispatcher = Dispatcher(ledger, EventRecorder(ledger, timing, "host"), timing)
    pod = make_pod("web").obj()
    await dispatcher.bind(PodShapes().info(pod), "n1")
    await dispatcher.delete_pod(pod)
    await dispatcher.update_volume(make_volume("disk").obj())
    await dispatcher.update_claim(make_claim("data").obj())
    claim = await dispatcher.create_resource_claim(api.ResourceClaim(metadata=api.ObjectMeta(name="gpu")))
    await dispatcher.change_resource_claim(claim, allocated)
    await dispatcher.delete_resource_claim(claim)
    writing = asyncio.create_task(dispatcher.run())
    scheduled = api.Condition(type=api.INITIALLY_SCHEDULED, status="True")
    dispatcher.report_group_condition(make_pod_group("gang").obj(), scheduled)
    for _ in range(2):
        dispatcher.report_failure(Failure(pod, "Unschedulable", "0/1 nodes are available.", None))
        await dispatcher.drain()
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    await ApiReviews(ledger).review_token("secret")
    await ApiReviews(ledger).review_access(User("somebody"), "get", "/metrics")


def allocated(claim: api.ResourceClaim) -> api.ResourceClaim:
    metadata = msgspec.structs.replace(claim.metadata, finalizers=("protected",))
    status = api.ResourceClaimStatus(allocation=api.AllocationResult())
    return msgspec.structs.replace(claim, metadata=metadata, status=status)


def test_requests_and_rights_are_the_same() -> None:
    ledger = Ledger()
    asyncio.run(make_every_request(ledger))
    rights = granted(manifests("manifests")["ClusterRole", "steersman"])
    beyond_following = {key: verbs - {"list", "watch"} for key, verbs in rights.items() if verbs - {"list", "watch"}}
    assert ledger.used == beyond_following


def test_paths_are_taken_apart_as_the_api_server_does() -> None:
    assert resource_of("/api/v1/namespaces/a/pods/web/status") == ("", "pods/status")
    assert resource_of("/api/v1/persistentvolumes/disk") == ("", "persistentvolumes")
    assert resource_of("/apis/events.k8s.io/v1/namespaces/a/events") == ("events.k8s.io", "events")
    assert resource_of("/api/v1/namespaces/a") == ("", "namespaces")
