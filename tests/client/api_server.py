# SPDX-License-Identifier: Apache-2.0
"""A kube-apiserver in miniature: the embedded cluster's store behind HTTP, with faults on demand.

Lists with pages, watches with bookmarks, objects with their subresources (pods: status, binding), patches, deletions with
preconditions. `faults` says what goes wrong; see `api_faults`.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from aiohttp import web
from tests.client.api_discovery import Discovery
from tests.client.api_faults import Faults
from tests.client.api_patches import patched
from tests.client.serving import serve
from tests.embedded.store_watches import WatchEvent, watch_store

from steersman import api
from steersman.api import codec, selector_text
from steersman.base.clock import RealClock
from steersman.base.errors import InputError
from steersman.cluster.store import Expired, Pods, StatusError, Store
from steersman.kube.client.events import Event
from steersman.kube.client.lease import Lease

Kind = type[api.Object]

SERVED_KINDS: Final[tuple[Kind, ...]] = (*api.KINDS.values(), Event, Lease)


class ApiServer:
    """`store` is what it serves; `requests` all it was asked, as "GET /api/v1/pods"."""

    def __init__(self, store: Store | None = None, kinds: Iterable[Kind] = SERVED_KINDS) -> None:
        self.store = store or Store(RealClock())
        self.pods = Pods(self.store)
        self.faults = Faults()
        self.requests: list[str] = []
        self._kinds = {(kind.API_VERSION, kind.PLURAL): kind for kind in kinds}
        self.discovery = Discovery(self._kinds.values(), self.faults.missing)

    def asked(self, what: str) -> int:
        """How many requests begin with the text."""
        return sum(request.startswith(what) for request in self.requests)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """The address."""
        app = web.Application(client_max_size=64 << 20)
        app.add_routes(self.discovery.routes())
        for root in ("/api/{version}", "/apis/{group}/{version}"):
            for scope in ("/namespaces/{namespace}", ""):
                app.router.add_route("*", f"{root}{scope}/{{plural}}", self._collection)
                app.router.add_route("*", f"{root}{scope}/{{plural}}/{{name}}", self._item)
                app.router.add_route("*", f"{root}{scope}/{{plural}}/{{name}}/{{subresource}}", self._item)
        async with serve(app) as address:
            yield address

    # -- requests ----------------------------------------------------------------------------------------------------

    async def _collection(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET" and "watch" in request.query:
            return await self._answer(request, self._watch)
        return await self._answer(request, self._create if request.method == "POST" else self._list)

    async def _item(self, request: web.Request) -> web.StreamResponse:
        handlers = {
            "GET": self._get,
            "PUT": self._put,
            "PATCH": self._patch,
            "DELETE": self._delete,
            "POST": self._post,
        }
        return await self._answer(request, handlers[request.method])

    async def _answer(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests.append(f"{request.method} {request.path}")
        refusal = await self.faults.before(request)
        if refusal is not None:
            return refusal
        version = "/".join(filter(None, (request.match_info.get("group"), request.match_info["version"])))
        kind = self._kinds.get((version, request.match_info["plural"]))
        if kind is None or kind in self.faults.missing:
            return web.Response(text="404 page not found", status=404)
        try:
            answer: web.StreamResponse = await handler(request, kind)
        except StatusError as error:
            return _refusal(error)
        except InputError as error:
            return web.json_response({"kind": "Status", "code": 400, "message": str(error)}, status=400)
        self.faults.after(request)
        return answer

    # -- collections -------------------------------------------------------------------------------------------------

    async def _list(self, request: web.Request, kind: Kind) -> web.Response:
        objects, version = self.store.list(kind, request.match_info.get("namespace"))
        objects = [obj for obj in objects if _selected(obj, request)]
        limit = int(request.query.get("limit", "0"))
        start, token = 0, request.query.get("continue")
        if token:
            if self.faults.take("expire_continues"):
                raise Expired(0, 0)
            start, version = msgspec.json.decode(base64.b64decode(token), type=tuple[int, str])
        page = objects[start : start + limit] if limit else objects
        metadata = {"resourceVersion": version}
        if limit and start + limit < len(objects):
            metadata["continue"] = base64.b64encode(msgspec.json.encode((start + limit, version))).decode()
        items = [msgspec.Raw(codec.encode(obj)) for obj in page]
        return _json({"kind": f"{kind.KIND}List", "apiVersion": kind.API_VERSION, "metadata": metadata, "items": items})

    async def _create(self, request: web.Request, kind: Kind) -> web.Response:
        obj = codec.decode(await request.read(), kind)
        namespace = request.match_info.get("namespace", "")
        metadata = msgspec.structs.replace(obj.metadata, namespace=namespace)
        return _object(self.store.create(msgspec.structs.replace(obj, metadata=metadata)), 201)

    async def _watch(self, request: web.Request, kind: Kind) -> web.StreamResponse:
        bookmarks = request.query.get("allowWatchBookmarks") == "true"
        watch = watch_store(
            self.store,
            (kind,),
            request.query.get("resourceVersion", ""),
            namespace=request.match_info.get("namespace"),
            bookmarks=bookmarks,
        )
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        channel = self.faults.opened(request)
        try:
            async with asyncio.timeout(float(request.query.get("timeoutSeconds", "3600"))):
                async for event in watch:
                    await channel.send(response, _line(event, request))
        except TimeoutError:
            pass
        except Expired as error:
            await channel.send(response, _status_line(error))
        finally:
            watch.stop()
            self.faults.closed(channel)
        return response

    # -- objects -----------------------------------------------------------------------------------------------------

    async def _get(self, request: web.Request, kind: Kind) -> web.Response:
        return _object(self.store.get(kind, _key(request, kind)))

    async def _put(self, request: web.Request, kind: Kind) -> web.Response:
        return _object(self.store.update(codec.decode(await request.read(), kind)))

    async def _patch(self, request: web.Request, kind: Kind) -> web.Response:
        old = self.store.get(kind, _key(request, kind))
        new = patched(old, msgspec.json.decode(await request.read()), request.content_type)
        if request.match_info.get("subresource") == "status":
            return _object(self.store.update_status(new))
        return _object(self.store.update(new))

    async def _delete(self, request: web.Request, kind: Kind) -> web.Response:
        body = await request.read()
        options = msgspec.json.decode(body) if body else {}
        uid = (options.get("preconditions") or {}).get("uid", "")
        key = _key(request, kind)
        if kind is api.Pod:
            return _object(self.pods.delete(key, grace_period_seconds=options.get("gracePeriodSeconds"), uid=uid))
        return _object(self.store.delete(kind, key, uid))

    async def _post(self, request: web.Request, kind: Kind) -> web.Response:
        """Only pods have something to post to: their binding."""
        body = msgspec.json.decode(await request.read())
        info = request.match_info
        self.pods.bind(info["namespace"], info["name"], body["metadata"].get("uid", ""), body["target"]["name"])
        return _json({"kind": "Status", "status": "Success", "code": 201}, 201)


def _key(request: web.Request, kind: Kind) -> str:
    info = request.match_info
    return f"{info['namespace']}/{info['name']}" if kind.NAMESPACED else info["name"]


def _selected(obj: api.Object, request: web.Request) -> bool:
    """By the selectors of the query; any field will do."""
    labels = selector_text.label_selector(request.query.get("labelSelector", ""))
    fields = selector_text.field_selector(request.query.get("fieldSelector", ""))
    if not labels.matches(obj.metadata.labels):
        return False
    return not fields or all(field.matches(codec.to_dict(obj)) for field in fields)


def _line(event: WatchEvent, request: web.Request) -> bytes:
    type_ = event.type.value if _selected(event.object, request) else "DELETED"
    return msgspec.json.encode({"type": type_, "object": msgspec.Raw(codec.encode(event.object))}) + b"\n"


def _status_line(error: StatusError) -> bytes:
    return msgspec.json.encode({"type": "ERROR", "object": _status(error)}) + b"\n"


def _status(error: StatusError) -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "code": error.code, "reason": error.reason, "message": error.message}


def _refusal(error: StatusError) -> web.Response:
    return _json(_status(error), error.code)


def _object(obj: api.Object, status: int = 200) -> web.Response:
    return web.Response(body=codec.encode(obj), status=status, content_type="application/json")


def _json(document: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(document), status=status, content_type="application/json")
