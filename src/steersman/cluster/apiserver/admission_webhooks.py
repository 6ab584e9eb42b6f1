# SPDX-License-Identifier: Apache-2.0
"""Admission webhooks with a loopback `url`: validating ones review writes, mutating ones change
objects.

Webhooks of Services (unreachable here) and of other hosts are not called. Callers with an event
loop must call from another thread: a webhook may read from the API server before it responds.
"""

from __future__ import annotations

import base64
import http.client
import ipaddress
import json
import ssl
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from steersman.api.cel import CelError
from steersman.cluster.apiserver.admission_policies import stored_kind
from steersman.cluster.apiserver.admission_requests import AdmissionRequest, unmet_conditions
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.json_patches import apply_json_patch
from steersman.cluster.apiserver.statuses import RequestRefused, bad_request
from steersman.cluster.store import Document, Store
from steersman.cluster.store.errors import StatusError

DEFAULT_SECONDS: Final = 10
MAX_BYTES: Final = 16 << 20
_REVIEW: Final = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}


class _CallFailed(Exception):
    """The webhook returned no usable response."""


class AdmissionWebhooks:
    """Webhook configurations of a store."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._mutating = stored_kind(catalog, "MutatingWebhookConfiguration")
        self._validating = stored_kind(catalog, "ValidatingWebhookConfiguration")

    @property
    def have_callable(self) -> bool:
        """Whether any configured webhook can be called."""
        kinds = (self._mutating, self._validating)
        return any(is_called(hook) for kind in kinds for _, hook in self._hooks(kind))

    def mutated(self, request: AdmissionRequest, warnings: list[str]) -> Document | None:
        """Return the object after the patches of all matching mutating webhooks."""
        for name, hook in self._hooks(self._mutating):
            response = self._called(name, hook, request, warnings)
            if response.get("patch") and request.document is not None:
                patched = _patched(name, request.document, response["patch"])
                request = msgspec.structs.replace(request, document=patched)
        return request.document

    def validate(self, request: AdmissionRequest, warnings: list[str]) -> None:
        for name, hook in self._hooks(self._validating):
            self._called(name, hook, request, warnings)

    def _hooks(self, kind: Any) -> Iterator[tuple[str, Document]]:
        for _, configuration in sorted(self._store.documents(kind).items()):
            yield from ((hook.get("name", ""), hook) for hook in configuration.get("webhooks") or ())

    def _called(self, name: str, hook: Document, request: AdmissionRequest, warnings: list[str]) -> Document:
        """Return a webhook's response, {} if it is not called. Raise if it denies the request."""
        if not is_called(hook) or not request.is_selected(hook, "rules"):
            return {}
        try:
            if any(True for _ in unmet_conditions(hook.get("matchConditions") or (), request.variables())):
                return {}
            if request.is_dry_run and hook.get("sideEffects") not in ("None", "NoneOnDryRun"):
                raise bad_request(f'admission webhook "{name}" does not support dry run')
            response = _response(hook, request)
        except (_CallFailed, CelError) as error:
            if hook.get("failurePolicy", "Fail") == "Ignore":
                return {}
            why = f'Internal error occurred: failed calling webhook "{name}": failed to call webhook: {error}'
            raise RequestRefused(
                500, "InternalError", why, {"causes": [{"message": why.partition(": ")[2]}]}
            ) from error
        warnings += [str(text) for text in response.get("warnings") or ()]
        if response.get("allowed") is not True:
            raise _denied(name, response.get("status") or {})
        return response


def is_called(hook: Document) -> bool:
    """Return whether the webhook has a loopback URL."""
    target = urlsplit(str((hook.get("clientConfig") or {}).get("url") or ""))
    try:
        return target.scheme == "https" and (
            target.hostname == "localhost" or ipaddress.ip_address(target.hostname or "").is_loopback
        )
    except ValueError:
        return False


def _patched(name: str, document: Document, patch: Any) -> Document:
    try:
        return apply_json_patch(document, json.loads(base64.b64decode(patch)))
    except (StatusError, ValueError, TypeError) as error:
        why = f'Internal error occurred: failed calling webhook "{name}": the patch cannot be applied: {error}'
        raise RequestRefused(500, "InternalError", why) from error


def _denied(name: str, status: Document) -> RequestRefused:
    message = status.get("message") or status.get("reason")
    why = f'admission webhook "{name}" denied the request{f": {message}" if message else " without explanation"}'
    code = status.get("code") or 0
    return RequestRefused(code if code >= 400 else 400, str(status.get("reason") or ""), why, status.get("details"))


def _response(hook: Document, request: AdmissionRequest) -> Document:
    seconds = hook.get("timeoutSeconds") or DEFAULT_SECONDS
    review = _posted(hook["clientConfig"], {**_REVIEW, "request": request.review}, seconds)
    response = review.get("response") if isinstance(review, dict) else None
    if not isinstance(response, dict) or response.get("uid") != request.review["uid"]:
        raise _CallFailed(f'expected response.uid="{request.review["uid"]}"')
    return response


def _posted(config: Document, review: Document, seconds: int) -> Any:
    url = urlsplit(config["url"])
    query = "&".join(filter(None, (url.query, f"timeout={seconds}s")))
    shown = f'Post "{url.scheme}://{url.netloc}{url.path}?{query}"'
    try:
        bundle = base64.b64decode(config["caBundle"]).decode() if config.get("caBundle") else None
        context = ssl.create_default_context(cadata=bundle)
        connection = http.client.HTTPSConnection(str(url.hostname), url.port or 443, timeout=seconds, context=context)
        try:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            connection.request("POST", f"{url.path or '/'}?{query}", json.dumps(review), headers)
            answer = connection.getresponse()
            body = answer.read(MAX_BYTES)
        finally:
            connection.close()
    except TimeoutError as error:
        raise _CallFailed(f"{shown}: context deadline exceeded") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _CallFailed(f"{shown}: {error}") from error
    if answer.status != 200:
        raise _CallFailed(f"the server responded with the status code {answer.status}")
    try:
        return json.loads(body)
    except ValueError as error:
        raise _CallFailed(f"the answer is not JSON: {error}") from error
