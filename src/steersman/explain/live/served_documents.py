# SPDX-License-Identifier: Apache-2.0
"""Reads single objects of a live cluster with all their fields, for patches; objects read for
scheduling have only some fields.

They are listed by name rather than fetched, so that the permission to list is enough.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, Final

import msgspec

from steersman import api
from steersman.explain.fixes import ObjectName
from steersman.explain.live.cluster_reader import LiveError, granted
from steersman.framework import resource_text
from steersman.kube.client import ApiError, Request, Transport, paths

UNREADABLE: Final = "the API server's answer about {} {} cannot be read: {}"

Document = dict[str, Any]


async def served_documents(
    transport: Transport, server: str, names: Collection[ObjectName]
) -> dict[ObjectName, Document]:
    """Return the objects as the API server has them, without deleted ones. Raises `LiveError` if
    one cannot be read."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(_served(transport, server, name)) for name in names}
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    found = {name: task.result() for name, task in tasks.items()}
    return {name: document for name, document in found.items() if document is not None}


async def _served(transport: Transport, server: str, name: ObjectName) -> Document | None:
    kind: type[api.Object] = api.KINDS[name.kind]
    path = paths.collection(kind, name.namespace)
    query = {"fieldSelector": f"metadata.name={name.name}"}
    try:
        answer = await granted(transport.request(Request("GET", path, query)), server, "list", resource_text(kind))
    except ApiError as refusal:
        raise LiveError(f"cannot list {resource_text(kind)}: {refusal}") from refusal
    try:
        items = msgspec.json.decode(answer.body)["items"] or []
    except (msgspec.DecodeError, LookupError, TypeError) as wrong:
        raise LiveError(UNREADABLE.format(name.kind, name.name, wrong)) from wrong
    return {"apiVersion": kind.API_VERSION, "kind": kind.KIND, **items[0]} if items else None
