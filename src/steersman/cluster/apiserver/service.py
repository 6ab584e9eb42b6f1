# SPDX-License-Identifier: Apache-2.0
"""The API of the embedded cluster, without HTTP.

`server` passes requests in and writes the returned response or watch. `pages` handles non-resource
paths (discovery, version, health, OpenAPI), `subresources` those with rules of their own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from typing import Final, TypeAlias

import msgspec

from steersman import api
from steersman.api import find_unknown_fields, schema_of, unhandled
from steersman.base import SteersmanError
from steersman.cluster.apiserver.admission_policies import AdmissionPolicies
from steersman.cluster.apiserver.admission_webhooks import AdmissionWebhooks
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.custom_resources import CustomResources
from steersman.cluster.apiserver.lists import Chunk, ContinueExpired, list_chunk, list_version
from steersman.cluster.apiserver.media_types import (
    JSON,
    MediaType,
    RepeatedFields,
    accepted,
    accepted_for_status,
    decoded,
    decoded_value,
    encoded,
    not_acceptable,
)
from steersman.cluster.apiserver.metrics_page import RequestCounts
from steersman.cluster.apiserver.pages import METRICS, Pages
from steersman.cluster.apiserver.patches import CUSTOM_RESOURCE_PATCH_TYPES, JSON_PATCH, PATCH_TYPES
from steersman.cluster.apiserver.pod_logs import log_answer
from steersman.cluster.apiserver.protobuf_table import message_of
from steersman.cluster.apiserver.representations import Representations
from steersman.cluster.apiserver.requests import ApiAnswer, ApiRequest, WatchAnswer
from steersman.cluster.apiserver.resource_metrics import metrics_list, metrics_of
from steersman.cluster.apiserver.resources import METRICS_GROUP, Resource
from steersman.cluster.apiserver.reviews import Tokens, review
from steersman.cluster.apiserver.routing import RequestTarget, target, verb
from steersman.cluster.apiserver.rules import Rules
from steersman.cluster.apiserver.selection import Selection, selection
from steersman.cluster.apiserver.statuses import bad_request, status_document, success
from steersman.cluster.apiserver.structural_schemas import unspecified_fields
from steersman.cluster.apiserver.subresources import Subresources
from steersman.cluster.apiserver.watches import EncodedEvents, WatchStream, watch_request
from steersman.cluster.apiserver.write_options import STRICT, WARN, WriteOptions, delete_options, write_options
from steersman.cluster.apiserver.writes import Writer
from steersman.cluster.store import Document, NotFound, Store

logger = logging.getLogger(__name__)

LARGE_BODY_BYTES: Final = 1 << 17
MAX_ENCODED_IN_LOOP: Final = 100
"""Maximum length of YAML and protobuf lists that are encoded in the event loop."""
RETURNED_BY_DELETION: Final = frozenset(
    {"pods", "persistentvolumeclaims", "persistentvolumes", "podtemplates", "services"}
)
"""Resources whose deletion returns the object; others return a `Status`."""

DEPRECATED: Final = {
    ("v1", "componentstatuses"): "v1 ComponentStatus is deprecated in v1.19+",
    ("v1", "endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
}
"""Warnings added to every response about a resource."""

Answer: TypeAlias = ApiAnswer | WatchAnswer


class ApiService:
    """API of a store. `pages` handles non-resource paths."""

    def __init__(self, store: Store, catalog: Catalog, customs: CustomResources, tokens: Tokens, pages: Pages) -> None:
        self._store = store
        self._catalog = catalog
        self._customs = customs
        self._tokens = tokens
        self._pages = pages
        self._representations = Representations(catalog, customs, store.clock)
        policies, self._webhooks = AdmissionPolicies(store, catalog), AdmissionWebhooks(store, catalog)
        self._writer = Writer(store, catalog, Rules(customs, store), policies, self._webhooks)
        self._subresources = Subresources(store, self._writer, tokens, customs.scale_paths)
        self._counts = RequestCounts()
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

    def takes_long(self, request: ApiRequest) -> bool:
        """Return whether the request should run in a thread: it has a large body, or may call
        webhooks."""
        return len(request.body) > LARGE_BODY_BYTES or (request.method != "GET" and self._webhooks.have_callable)

    def answer(self, request: ApiRequest, loop: asyncio.AbstractEventLoop | None = None) -> Answer:
        """Return the response, also for errors. `loop` is the store's, given by other threads."""
        with self._writer.writing_in(loop) if loop is not None else nullcontext():
            return self._answer_safely(request)

    def _answer_safely(self, request: ApiRequest) -> Answer:
        try:
            if request.path == METRICS:
                return self._counts.page(self._store, self._catalog.all())
            page = self._pages.answer(request)
            if page is not None:
                return page
            return self._answer(request, target(self._catalog, request.path))
        except SteersmanError as refusal:
            return refused(refusal, request.header("accept"))
        except Exception as fault:
            logger.exception("%s %s failed", request.method, request.path)
            return refused(fault, request.header("accept"))

    def _answer(self, request: ApiRequest, about: RequestTarget) -> Answer:
        name = verb(request.method, about, request.query, request.path)
        try:
            answer = self._verbs[name](request, about)
        except SteersmanError as refusal:
            answer = refused(refusal, request.header("accept"))
        self._counts.count(about, name, answer.code if isinstance(answer, ApiAnswer) else 200)
        notice = DEPRECATED.get((about.resource.api_version, about.resource.plural))
        if notice is None or isinstance(answer, WatchAnswer) or notice in answer.warnings:
            return answer
        return msgspec.structs.replace(answer, warnings=(notice, *answer.warnings))

    # -- reading -----------------------------------------------------------------------------------

    def _get(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media = _media(request, about)
        if about.resource.group == METRICS_GROUP:
            return _answered(metrics_of(self._store, about.resource, about.namespace, about.name), media)
        if about.subresource is not None and about.subresource.name == "log":
            return log_answer(self._subresources.get(about), request.query, self._store.clock.now())
        if about.subresource is not None and about.subresource.name != "status":
            return _answered(self._subresources.get(about), media)
        kind = _stored_as(about.resource)
        list_version(self._store, {"resourceVersion": request.query.get("resourceVersion", "")})
        self._store.get(kind, about.key)
        document = self._store.document(kind, about.key)
        return self._shown(request, about, document)

    def _list(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media = _media(request, about)
        if about.resource.group == METRICS_GROUP and not media.form:
            return _answered(metrics_list(self._store, about.resource, self._selection(request, about)), media)
        if about.resource.stored_as is None:
            chunk = Chunk([], {"resourceVersion": self._store.resource_version})
        else:
            chunk = list_chunk(self._store, about.resource, self._selection(request, about), request.query)
        shown = self._representations.listed(about.resource, chunk, media, request.query.get("includeObject", ""))
        return _answered(shown, media)

    def _watch(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media = _media(request, about)
        chosen = self._selection(request, about)
        watch = watch_request(self._store, about.resource, chosen, media, request.query)
        return WatchAnswer(WatchStream(self._store, watch, self._events), media.stream_type)

    def _selection(self, request: ApiRequest, about: RequestTarget) -> Selection:
        fields = dict(request.query)
        if about.name:
            one = f"metadata.name={about.name}"
            fields["fieldSelector"] = ",".join(filter(None, (request.query.get("fieldSelector"), one)))
        return selection(
            about.resource, about.namespace, fields, self._customs.version(about.resource).selectable_fields
        )

    # -- writing -----------------------------------------------------------------------------------

    def _create(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media, warnings = _media(request, about), list[str]()
        if media.form and about.resource.stored_as is None:
            raise not_acceptable()
        # Stream requests such as exec have no body; continue, to return the actual error.
        is_empty = about.subresource is not None and not request.body
        repeated = RepeatedFields()
        document = {} if is_empty else decoded(request.body, request.header("content-type"), repeated)
        options = write_options("CreateOptions", request.query, request.header("user-agent"), user=request.user)
        self._check_repeated(about, document, repeated, options, warnings)
        if about.subresource is not None or about.resource.plural == "bindings":
            created = self._writer.run(lambda: self._subresources.create(about, document, options))
            return _answered(created, media, 201)
        if about.resource.stored_as is None:
            made = review(about.resource, document, request.user, self._tokens)
            return _answered(made, media, 201)
        made = self._writer.create(about, document, options, warnings)
        return self._shown(request, about, made, 201, warnings, is_presented=True)

    def _update(self, request: ApiRequest, about: RequestTarget) -> Answer:
        warnings, repeated = list[str](), RepeatedFields()
        document = decoded(request.body, request.header("content-type"), repeated)
        options = write_options("UpdateOptions", request.query, request.header("user-agent"), user=request.user)
        self._check_repeated(about, document, repeated, options, warnings)
        if self._subresources.handles(about):
            written, is_new = self._subresources.update(about, document, options, warnings), False
        else:
            written, is_new = self._writer.update(about, document, options, warnings)
        return self._shown(request, about, written, 201 if is_new else 200, warnings, is_presented=True)

    def _patch(self, request: ApiRequest, about: RequestTarget) -> Answer:
        warnings, repeated = list[str](), RepeatedFields()
        content_type = request.header("content-type").partition(";")[0].strip()
        is_built_in = self._catalog.is_built_in(about.resource)
        types = PATCH_TYPES if is_built_in else CUSTOM_RESOURCE_PATCH_TYPES
        patch = decoded_value(request.body, content_type, types, repeated)
        agent = request.header("user-agent")
        options = write_options("PatchOptions", request.query, agent, content_type, request.user)
        if content_type != JSON_PATCH:
            self._check_repeated(about, {}, repeated, options, warnings)
        if self._subresources.handles(about):
            written, is_new = self._subresources.patch(about, content_type, patch, options, warnings), False
        else:
            written, is_new = self._writer.patch(about, content_type, patch, options, warnings)
        return self._shown(request, about, written, 201 if is_new else 200, warnings, is_presented=True)

    def _delete(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media = _media(request, about)
        body = decoded(request.body, request.header("content-type")) if request.body else {}
        warnings, options = list[str](), delete_options(request.query, body, request.user)
        document, is_gone = self._writer.delete(about, options, warnings)
        if not is_gone or about.resource.plural in RETURNED_BY_DELETION:
            return self._shown(request, about, document, warnings=warnings, is_presented=True)
        group = {"group": about.resource.group} if about.resource.group else {}
        details = {"name": about.name, **group, "kind": about.resource.plural}
        return _answered(success({**details, "uid": document["metadata"].get("uid", "")}), media, 200, warnings)

    def _delete_collection(self, request: ApiRequest, about: RequestTarget) -> Answer:
        media = _media(request, about)
        body = decoded(request.body, request.header("content-type")) if request.body else {}
        options, warnings = delete_options(request.query, body, request.user), list[str]()
        chosen = self._selection(request, about)
        deleted = list(self._writer.delete_collection(about.resource, chosen, options, warnings))
        chunk = Chunk(deleted, {"resourceVersion": self._store.resource_version})
        return _answered(self._representations.listed(about.resource, chunk, media), media, 200, warnings)

    # -- inside ------------------------------------------------------------------------------------

    def _check_repeated(
        self,
        about: RequestTarget,
        document: Document,
        repeated: RepeatedFields,
        options: WriteOptions,
        warnings: list[str],
    ) -> None:
        """Reject (with unknown fields) or report duplicate fields, by `fieldValidation`."""
        if repeated.messages and options.field_validation == STRICT:
            resource = about.resource
            header = {"apiVersion": resource.api_version, "kind": resource.kind}
            if not self._catalog.is_built_in(resource):
                repeated.order.clear()  # unknown fields of custom resources are found after decoding
            messages = strict_messages(repeated, self._unknown_fields(resource, document))
            raise bad_request(unhandled(header, f"strict decoding error: {', '.join(messages)}"))
        warnings += repeated.messages if options.field_validation == WARN else ()

    def _unknown_fields(self, resource: Resource, document: Document) -> list[str]:
        schema = self._customs.version(resource).schema
        if schema:
            return list(unspecified_fields(document, schema))
        fields = schema_of(resource.api_version, resource.kind)
        return [] if fields is None else [field.path for field in find_unknown_fields(document, fields)]

    def _shown(
        self,
        request: ApiRequest,
        about: RequestTarget,
        document: Document,
        code: int = 200,
        warnings: Iterable[str] = (),
        *,
        is_presented: bool = False,
    ) -> Answer:
        """Return an object in the form that the client wants. With `is_presented`, it is already in
        the client's version."""
        media = _media(request, about)
        include = request.query.get("includeObject", "")
        shape = self._representations.presented if is_presented else self._representations.one
        return _answered(shape(about.resource, document, media, include), media, code, warnings)


def strict_messages(repeated: RepeatedFields, unknown: Iterable[str]) -> list[str]:
    """Return the messages of strict decoding, in body order if known; a field both unknown and
    duplicate is reported as unknown only."""
    texts = {path: f'unknown field "{path}"' for path in unknown}
    texts |= {message: message for message, path in repeated.messages.items() if path not in texts}
    fields = dict.fromkeys((*repeated.order, *repeated.messages, *texts))
    return [texts[field] for field in fields if field in texts]


def refused(error: Exception, accept: str = "") -> ApiAnswer:
    """Return the error response, in a type that the client accepts."""
    status = status_document(error)
    if isinstance(error, ContinueExpired):
        status["metadata"] = {"continue": error.rest}
    headers = {}
    seconds = (status.get("details") or {}).get("retryAfterSeconds")
    if seconds:
        headers["Retry-After"] = str(seconds)
    media = accepted_for_status(accept)
    return ApiAnswer(status["code"], encoded(status, media), media.format, headers)


def _answered(document: Document, media: MediaType, code: int = 200, warnings: Iterable[str] = ()) -> ApiAnswer:
    is_slow = media.format != JSON and len(document.get("items") or ()) > MAX_ENCODED_IN_LOOP
    body = partial(encoded, document, media) if is_slow else encoded(document, media)
    return ApiAnswer(code, body, media.format, {}, tuple(warnings))


def _media(request: ApiRequest, about: RequestTarget) -> MediaType:
    """Return the media type of the response. Raises 406."""
    resource, part = about.resource, about.subresource
    api_version = f"{part.group}/{part.version}" if part is not None and part.group else resource.api_version
    message = message_of(api_version, resource.kind if part is None else part.kind)
    return accepted(request.header("accept"), has_protobuf=message is not None)


def _stored_as(resource: Resource) -> type[api.Object]:
    if resource.stored_as is None:
        raise NotFound(api.Object, "")
    return resource.stored_as
