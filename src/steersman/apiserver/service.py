# SPDX-License-Identifier: Apache-2.0
"""Requests carried out: the API of the embedded cluster, without HTTP.

`server` hands a request over and writes what comes back: an answer, or a watch that goes on. What is not about objects of a
resource (discovery, versions, health, OpenAPI) is in `pages`; subresources with rules of their own in `subresources`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import msgspec

from steersman import api
from steersman.apiserver.catalog import Catalog
from steersman.apiserver.custom_resources import CustomResources
from steersman.apiserver.lists import Chunk, ContinueExpired, list_chunk
from steersman.apiserver.media_types import JSON, MediaType, accepted, decoded, decoded_value, encoded
from steersman.apiserver.pages import Pages
from steersman.apiserver.patches import CUSTOM_RESOURCE_PATCH_TYPES, PATCH_TYPES
from steersman.apiserver.representations import Representations
from steersman.apiserver.requests import ApiAnswer, ApiRequest, WatchAnswer
from steersman.apiserver.resources import Resource
from steersman.apiserver.reviews import Tokens, review
from steersman.apiserver.routing import RequestTarget, target, verb
from steersman.apiserver.rules import Rules
from steersman.apiserver.selection import Selection, selection
from steersman.apiserver.statuses import status_document, success
from steersman.apiserver.subresources import Subresources
from steersman.apiserver.watches import EncodedEvents, WatchStream, watch_request
from steersman.apiserver.write_options import delete_options, write_options
from steersman.apiserver.writes import Writer
from steersman.embedded import Document, NotFound, Store
from steersman.errors import SteersmanError

logger = logging.getLogger(__name__)

GONE_AT_ONCE: Final = frozenset({"pods", "persistentvolumeclaims", "persistentvolumes", "podtemplates", "services"})
"""Resources whose deletion is answered with the object; others answer with a `Status`."""

Answer: TypeAlias = ApiAnswer | WatchAnswer


class ApiService:
    """The API of one store. `pages` are the paths that are not about objects."""

    def __init__(self, store: Store, catalog: Catalog, customs: CustomResources, tokens: Tokens, pages: Pages) -> None:
        self._store = store
        self._catalog = catalog
        self._customs = customs
        self._tokens = tokens
        self._pages = pages
        self._representations = Representations(catalog, customs, store.clock)
        self._writer = Writer(store, catalog, Rules(customs))
        self._subresources = Subresources(store, self._writer, tokens, customs.scale_paths)
        self._events = EncodedEvents(self._representations.event)
        self._verbs: dict[str, Callable[[ApiRequest, RequestTarget], Answer]] = {
            "get": self._get,
            "list": self._list,
            "watch": self._watch,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def answer(self, request: ApiRequest) -> Answer:
        """Never raises: refusals and faults are answers too."""
        resource, name = None, ""
        try:
            page = self._pages.answer(request)
            if page is not None:
                return page
            about = target(self._catalog, request.path)
            resource, name = about.resource, about.name
            return self._verbs[verb(request.method, about, request.query, request.path)](request, about)
        except SteersmanError as refusal:
            return refused(refusal, resource, name)
        except Exception as fault:
            logger.exception("%s %s failed", request.method, request.path)
            return refused(fault, resource, name)

    # -- reading -----------------------------------------------------------------------------------------------------

    def _get(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media = accepted(request.header("accept"))
        if about.subresource is not None and about.subresource.name != "status":
            return _answered(self._subresources.get(about), media)
        kind = _stored_as(about.resource)
        self._store.get(kind, about.key)
        document = self._store.document(kind, about.key)
        return self._shown(request, about.resource, document)

    def _list(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media = accepted(request.header("accept"))
        if about.resource.stored_as is None:
            chunk = Chunk([], {"resourceVersion": self._store.resource_version})
        else:
            chunk = list_chunk(self._store, about.resource, self._selection(request, about), request.query)
        shown = self._representations.listed(about.resource, chunk, media, request.query.get("includeObject", ""))
        return _answered(shown, media)

    def _watch(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media = accepted(request.header("accept"))
        chosen = self._selection(request, about)
        asked = watch_request(self._store, about.resource, chosen, media, request.query)
        return WatchAnswer(WatchStream(self._store, asked, self._events))

    def _selection(self, request: ApiRequest, about: RequestTarget) -> Selection:
        fields = dict(request.query)
        if about.name:
            one = f"metadata.name={about.name}"
            fields["fieldSelector"] = ",".join(filter(None, (request.query.get("fieldSelector"), one)))
        return selection(
            about.resource, about.namespace, fields, self._customs.version(about.resource).selectable_fields
        )

    # -- writing -----------------------------------------------------------------------------------------------------

    def _create(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media, warnings = accepted(request.header("accept")), list[str]()
        # Who wants to execute something sends no body, and is to hear why that is not possible.
        is_empty = about.subresource is not None and not request.body
        document = {} if is_empty else decoded(request.body, request.header("content-type"))
        options = write_options(about.resource, request.query, request.header("user-agent"))
        if about.subresource is not None or about.resource.plural == "bindings":
            return _answered(self._subresources.create(about, document, options), media, 201)
        if about.resource.stored_as is None:
            made = review(about.resource.kind, document, request.user, self._tokens)
            return _answered(made, media, 201)
        made = self._writer.create(about, document, options, warnings)
        return self._shown(request, about.resource, made, 201, warnings, is_presented=True)

    def _update(self, request: ApiRequest, about: RequestTarget) -> Answer:
        warnings = list[str]()
        document = decoded(request.body, request.header("content-type"))
        options = write_options(about.resource, request.query, request.header("user-agent"))
        if self._subresources.handles(about):
            written, is_new = self._subresources.update(about, document, options, warnings), False
        else:
            written, is_new = self._writer.update(about, document, options, warnings)
        return self._shown(request, about.resource, written, 201 if is_new else 200, warnings, is_presented=True)

    def _patch(self, request: ApiRequest, about: RequestTarget) -> Answer:
        warnings = list[str]()
        content_type = request.header("content-type").partition(";")[0].strip()
        is_built_in = self._catalog.is_built_in(about.resource)
        types = PATCH_TYPES if is_built_in else CUSTOM_RESOURCE_PATCH_TYPES
        patch = decoded_value(request.body, content_type, types)
        options = write_options(about.resource, request.query, request.header("user-agent"))
        if self._subresources.handles(about):
            written, is_new = self._subresources.patch(about, content_type, patch, options, warnings), False
        else:
            written, is_new = self._writer.patch(about, content_type, patch, options, warnings)
        return self._shown(request, about.resource, written, 201 if is_new else 200, warnings, is_presented=True)

    def _delete(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media = accepted(request.header("accept"))
        body = decoded(request.body, request.header("content-type")) if request.body else {}
        document, is_gone = self._writer.delete(about, delete_options(about.resource, request.query, body))
        if not is_gone or about.resource.plural in GONE_AT_ONCE:
            return _answered(document, media)
        details = {"name": about.name, "group": about.resource.group, "kind": about.resource.plural}
        return _answered(success({**details, "uid": document["metadata"].get("uid", "")}), media)

    def _delete_collection(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media = accepted(request.header("accept"))
        body = decoded(request.body, request.header("content-type")) if request.body else {}
        options = delete_options(about.resource, request.query, body)
        chosen = self._selection(request, about)
        deleted = list(self._writer.delete_collection(about.resource, chosen, options))
        header = {"kind": about.resource.list_kind, "apiVersion": about.resource.api_version}
        metadata = {"resourceVersion": self._store.resource_version}
        return _answered({**header, "metadata": metadata, "items": deleted}, media)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _shown(
        self,
        request: ApiRequest,
        resource: Resource,
        document: Document,
        code: int = 200,
        warnings: Iterable[str] = (),
        *,
        is_presented: bool = False,
    ) -> Answer:
        """An object in the form that the client wants; `is_presented`: it is in the version of the client already."""
        media = accepted(request.header("accept"))
        include = request.query.get("includeObject", "")
        shape = self._representations.presented if is_presented else self._representations.one
        shown = shape(resource, document, media, include)
        return _answered(shown, media, code, warnings)


def refused(error: Exception, resource: Resource | None, name: str) -> ApiAnswer:
    """The answer to a request that is not carried out."""
    status = status_document(error, resource, name)
    if isinstance(error, ContinueExpired):
        status["metadata"] = {"continue": error.rest}
    headers = {}
    seconds = (status.get("details") or {}).get("retryAfterSeconds")
    if seconds:
        headers["Retry-After"] = str(seconds)
    return ApiAnswer(status["code"], msgspec.json.encode(status), JSON, headers)


def _answered(document: Document, media: MediaType, code: int = 200, warnings: Iterable[str] = ()) -> ApiAnswer:
    return ApiAnswer(code, encoded(document, media), media.format, {}, tuple(warnings))


def _stored_as(resource: Resource) -> type[api.Object]:
    if resource.stored_as is None:
        raise NotFound(api.Object, "")
    return resource.stored_as
