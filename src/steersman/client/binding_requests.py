# SPDX-License-Identifier: Apache-2.0
"""Bindings as requests: each pod is bound at most once, and it is remembered when nobody knows whether it was.

Used by `dispatcher`. A request without an answer may have been carried out; what is said of the pod then could be said of one
that is bound. The server is asked once more, and if it does not say either, the question stays open.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from steersman import api
from steersman.client import paths
from steersman.client.direct_posts import DirectPosts
from steersman.client.errors import ApiError, ClientError, ConnectionFailed
from steersman.client.foreign_input import decode_foreign
from steersman.client.pacing import RetryPolicy, Timing, retrying
from steersman.client.transport import Response, Transport
from steersman.framework.status import Status, error

MOST_OPEN: Final = 4096
ONE_LOOK: Final = RetryPolicy(attempts=1, deadline=10.0)
"""The policy of a question that only decides what is said of a failure."""


class BindingRequests:
    """Binds pods, and remembers whose binding got no answer."""

    def __init__(
        self, transport: Transport, timing: Timing, policy: RetryPolicy, posts: DirectPosts | None = None
    ) -> None:
        self._transport = transport
        self._posts = posts
        self._timing = timing
        self._policy = policy
        #: Pods by uid that the server may have bound without saying so, oldest first.
        self._open: OrderedDict[str, None] = OrderedDict()

    def take_open(self, uid: str) -> bool:
        """Whether the last binding of the pod got no answer; asked once."""
        return self._open.pop(uid, self) is None

    def begin(self, pod: api.Pod, node_name: str, on_end: Callable[[ClientError | None], None]) -> bool:
        """Sends the first attempt to bind the pod, and tells how it ended; None: the pod is bound to the node. After a failure
        `bind` goes on, if it is told of it. False: this attempt has to wait for something, and nothing was sent."""
        uid = pod.metadata.uid
        if self._posts is None or uid in self._open:
            return False
        ended = partial(self._ended, uid, on_end)
        if not self._posts.begin(paths.of(pod, "binding"), _body(pod, node_name), self._policy.attempt_seconds, ended):
            return False
        self._note_open(uid)
        return True

    def _ended(self, uid: str, on_end: Callable[[ClientError | None], None], outcome: Response | ClientError) -> None:
        failure = outcome if isinstance(outcome, ClientError) else None
        if failure is None or not _leaves_open(failure):
            self._open.pop(uid, None)
        on_end(failure)

    async def bind(self, pod: api.Pod, node_name: str, failed: ClientError | None = None) -> Status | None:
        """Binds the pod; None: it is bound to the node. `failed`: so ended the first attempt, which `begin` made."""
        if failed is None:
            self._open.pop(pod.metadata.uid, None)
        try:
            await self._send(pod, _body(pod, node_name), failed)
        except ClientError as failure:
            return None if await self._is_bound_nevertheless(failure, pod, node_name) else error(str(failure))
        return None

    async def _send(self, pod: api.Pod, body: bytes, failed: ClientError | None) -> None:
        """Whatever ends this, cancellation too: it is open if some attempt got no answer."""
        uid, path, first = pod.metadata.uid, paths.of(pod, "binding"), [] if failed is None else [failed]

        async def call(left: float) -> None:
            if first:
                raise first.pop()
            was_open = uid in self._open
            self._note_open(uid)
            try:
                await self._transport.request("POST", path, body=body, timeout=left)
            except ClientError as failure:
                if not was_open and not _leaves_open(failure):
                    self._open.pop(uid, None)
                raise
            self._open.pop(uid, None)

        await retrying(call, self._timing, self._policy, idempotent=True)

    def _note_open(self, uid: str) -> None:
        if len(self._open) >= MOST_OPEN:
            self._open.popitem(last=False)
        self._open[uid] = None

    async def _is_bound_nevertheless(self, failure: ClientError, pod: api.Pod, node_name: str) -> bool:
        """The answer to an earlier attempt was lost, and the pod is where it should be."""
        uid, is_conflict = pod.metadata.uid, isinstance(failure, ApiError) and failure.is_conflict
        if not is_conflict and uid not in self._open:
            return False
        bound = await self._is_bound(pod, node_name, self._policy if is_conflict else ONE_LOOK)
        if bound is None:
            self._open[uid] = None
        else:
            self._open.pop(uid, None)
        return bool(bound)

    async def _is_bound(self, pod: api.Pod, node_name: str, policy: RetryPolicy) -> bool | None:
        """Whether the server has the pod on the node; None: nobody knows."""

        async def call(left: float) -> Response:
            return await self._transport.request("GET", paths.of(pod), timeout=left)

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


def _leaves_open(failure: ClientError) -> bool:
    """Whether the server may have done what it was asked for."""
    if isinstance(failure, ConnectionFailed):
        return failure.may_have_arrived
    return isinstance(failure, ApiError) and failure.is_server_fault and not failure.is_overload
