# SPDX-License-Identifier: Apache-2.0
"""Bindings as requests: each pod is bound at most once; bindings without an answer are remembered.

Used by `dispatcher`. A binding without an answer may have been carried out, and a bound pod must
not be reported as failed. So the server is asked where the pod is, and if there is no answer
either, the binding stays unconfirmed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from steersman import api
from steersman.base import Timing
from steersman.framework import Status, error
from steersman.kube.client import paths
from steersman.kube.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.kube.client.foreign_input import decode_foreign
from steersman.kube.client.pacing import RetryPolicy, retrying
from steersman.kube.client.requests import NowaitChain, Request, Response, Transport

MAX_UNCONFIRMED: Final = 4096
ONE_ATTEMPT: Final = RetryPolicy(attempts=1, deadline=10.0)
"""The policy of a read that only decides how a failure is reported."""


class BindingRequests:
    """Binds pods, and records bindings without an answer."""

    def __init__(
        self,
        transport: Transport,
        timing: Timing,
        policy: RetryPolicy,
        on_bound: Callable[[str], None] = lambda uid: None,
        on_failure: Callable[[ClientError], object] = lambda failure: None,
    ) -> None:
        """`on_bound` is called with the uid of every pod that is bound, `on_failure` with the error
        of every binding that has finally failed."""
        self._transport = transport
        self._on_bound = on_bound
        self._on_failure = on_failure
        #: None if the transport cannot send without waiting.
        self._nowait = transport.request_nowait if isinstance(transport, NowaitChain) else None
        self._timing = timing
        self._policy = policy
        #: Uids of pods whose binding got no answer: the server may have bound them. Oldest first.
        self._unconfirmed: OrderedDict[str, None] = OrderedDict()

    def pop_unconfirmed(self, uid: str) -> bool:
        """Return whether the last binding of the pod got no answer, and forget it."""
        return self._unconfirmed.pop(uid, self) is None

    def begin(self, pod: api.Pod, node_name: str, on_end: Callable[[ClientError | None], None]) -> bool:
        """Send the first attempt to bind the pod without waiting, and return True; return False if
        nothing was sent.

        `on_end` gets None when the pod is bound, else the failure, after which `bind` continues.
        """
        uid = pod.metadata.uid
        if self._nowait is None or uid in self._unconfirmed:
            return False
        if not self._nowait(self._request(pod, node_name), partial(self._ended, uid, on_end)):
            return False
        self._note_unconfirmed(uid)
        return True

    def _ended(self, uid: str, on_end: Callable[[ClientError | None], None], outcome: Response | ClientError) -> None:
        failure = outcome if isinstance(outcome, ClientError) else None
        if failure is None or not _leaves_unconfirmed(failure):
            self._unconfirmed.pop(uid, None)
        if failure is None:
            self._on_bound(uid)
        on_end(failure)

    def _request(self, pod: api.Pod, node_name: str) -> Request:
        body = _body(pod, node_name)
        return Request("POST", paths.object_path(pod, "binding"), body=body, timeout=self._policy.attempt_seconds)

    async def bind(self, pod: api.Pod, node_name: str, failed: ClientError | None = None) -> Status | None:
        """Bind the pod and return None or the error. `failed` is the failure of `begin`."""
        if failed is None:
            self._unconfirmed.pop(pod.metadata.uid, None)
        try:
            await self._send(pod, self._request(pod, node_name), failed)
        except ClientError as failure:
            if not await self._is_bound_nevertheless(failure, pod, node_name):
                self._on_failure(failure)
                return error(str(failure))
        self._on_bound(pod.metadata.uid)
        return None

    async def _send(self, pod: api.Pod, request: Request, failed: ClientError | None) -> None:
        """Send with retries. The pod stays unconfirmed if an attempt got no answer."""
        uid, first = pod.metadata.uid, [] if failed is None else [failed]

        async def call(left: float) -> None:
            if first:
                raise first.pop()
            was_unconfirmed = uid in self._unconfirmed
            self._note_unconfirmed(uid)
            try:
                await self._transport.request(msgspec.structs.replace(request, timeout=left))
            except ClientError as failure:
                if not was_unconfirmed and not _leaves_unconfirmed(failure):
                    self._unconfirmed.pop(uid, None)
                raise
            self._unconfirmed.pop(uid, None)

        await retrying(call, self._timing, self._policy, idempotent=True)

    def _note_unconfirmed(self, uid: str) -> None:
        if len(self._unconfirmed) >= MAX_UNCONFIRMED:
            self._unconfirmed.popitem(last=False)
        self._unconfirmed[uid] = None

    async def _is_bound_nevertheless(self, failure: ClientError, pod: api.Pod, node_name: str) -> bool:
        """Return whether an earlier attempt with a lost answer has bound the pod."""
        uid, is_conflict = pod.metadata.uid, isinstance(failure, ApiError) and failure.is_conflict
        if not is_conflict and uid not in self._unconfirmed:
            return False
        bound = await self._is_bound(pod, node_name, self._policy if is_conflict else ONE_ATTEMPT)
        if bound is None:
            self._unconfirmed[uid] = None
        else:
            self._unconfirmed.pop(uid, None)
        return bool(bound)

    async def _is_bound(self, pod: api.Pod, node_name: str, policy: RetryPolicy) -> bool | None:
        """Return whether the server has the pod on the node; None if unknown."""

        async def call(left: float) -> Response:
            return await self._transport.request(Request("GET", paths.object_path(pod), timeout=left))

        try:
            answer = await retrying(call, self._timing, policy, idempotent=True)
            found = decode_foreign(answer.body, api.Pod, f"pod {api.key(pod)}")
        except ClientError as failure:
            return False if isinstance(failure, ApiError) and failure.is_not_found else None
        return (found.metadata.uid, found.spec.node_name) == (pod.metadata.uid, node_name)


def _body(pod: api.Pod, node_name: str) -> bytes:
    meta = pod.metadata
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
        "target": {"kind": "Node", "name": node_name},
    }
    return msgspec.json.encode(binding)


def _leaves_unconfirmed(failure: ClientError) -> bool:
    """Return whether the server may have carried out the request."""
    if isinstance(failure, ConnectionFailed):
        return failure.may_have_arrived
    return isinstance(failure, ApiError) and failure.is_server_fault and not failure.is_overload
