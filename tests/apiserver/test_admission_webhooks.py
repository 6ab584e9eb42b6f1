# SPDX-License-Identifier: Apache-2.0
"""Webhooks on loopback, asked by a kube-apiserver's protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import aiohttp
import pytest
from tests.apiserver.embedded_api import CONFIG_MAPS, TOKEN, EmbeddedApi, config_map

from steersman.cluster.apiserver.server import ApiServer
from steersman.cluster.store import Document
from steersman.kube.serving.listener import Listen
from steersman.sandbox.credentials import SandboxCredentials, new_credentials

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
KINDS = {"validating": f"{REGISTRATION}/validatingwebhookconfigurations"}
KINDS["mutating"] = f"{REGISTRATION}/mutatingwebhookconfigurations"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}

Respond = Callable[[Document], Document]


class Hook:
    """A webhook server; `requests` are what it was asked."""

    def __init__(self, url: str, credentials: SandboxCredentials) -> None:
        self.url = url
        self.requests: list[Document] = []
        self._bundle = base64.b64encode(credentials.certificate.chain).decode()

    def configuration(self, **fields: Any) -> Document:
        hook = {
            "name": "hook.example.com",
            "clientConfig": {"url": self.url, "caBundle": self._bundle},
            "rules": [RULE],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            **fields,
        }
        return {"metadata": {"name": "hooks"}, "webhooks": [hook]}


@contextmanager
def serving(respond: Respond) -> Iterator[Hook]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            hook.requests.append(review["request"])
            response = {"uid": review["request"]["uid"], **respond(review["request"])}
            body = json.dumps({**review, "response": response}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    credentials = new_credentials("127.0.0.1")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = credentials.tls().wrap_socket(server.socket, server_side=True)
    hook = Hook(f"https://127.0.0.1:{server.server_address[1]}/admit", credentials)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def allow(_: Document) -> Document:
    return {"allowed": True}


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


def test_a_validating_webhook_may_deny(cluster: EmbeddedApi) -> None:
    def respond(request: Document) -> Document:
        if request["object"]["metadata"]["name"] == "bad":
            return {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": "it is bad"}}
        return {"allowed": True, "warnings": ["be careful"]}

    with serving(respond) as hook:
        answer = cluster.answer("POST", KINDS["validating"], hook.configuration())
        assert (answer.code, answer.warnings) == (201, ())
        status = cluster.refusal(403, "POST", CONFIG_MAPS, config_map("bad"))
        assert status["message"] == 'admission webhook "hook.example.com" denied the request: it is bad'
        assert status["reason"] == "Forbidden"
        assert cluster.answer("POST", CONFIG_MAPS, config_map("good")).warnings == ("be careful",)
    asked = hook.requests[-1]
    assert (asked["operation"], asked["name"], asked["namespace"]) == ("CREATE", "good", "default")
    assert asked["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert (asked["userInfo"]["username"], asked["oldObject"], asked["dryRun"]) == ("somebody", None, False)


def test_a_mutating_webhook_changes_the_object(cluster: EmbeddedApi) -> None:
    def respond(request: Document) -> Document:
        if request["operation"] == "DELETE":
            return {"allowed": True}
        patch = [{"op": "add", "path": "/metadata/labels", "value": {"injected": "yes"}}]
        return {
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        }

    with serving(respond) as hook:
        cluster.create(KINDS["mutating"], hook.configuration())
        assert cluster.create(CONFIG_MAPS, config_map("c"))["metadata"]["labels"] == {"injected": "yes"}
        cluster.delete(f"{CONFIG_MAPS}/c")
    assert hook.requests[-1]["oldObject"]["metadata"]["labels"] == {"injected": "yes"}
    assert hook.requests[-1]["object"] is None


def test_what_a_mutating_webhook_makes_of_an_object_is_validated(cluster: EmbeddedApi) -> None:
    patch = base64.b64encode(json.dumps([{"op": "add", "path": "/data", "value": {"a": 1}}]).encode()).decode()
    with serving(lambda _: {"allowed": True, "patchType": "JSONPatch", "patch": patch}) as hook:
        cluster.create(KINDS["mutating"], hook.configuration())
        assert "cannot unmarshal number" in cluster.refusal(400, "POST", CONFIG_MAPS, config_map("c"))["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"rules": [{**RULE, "operations": ["DELETE"]}]},
        {"rules": [{**RULE, "resources": ["configmaps/status"]}]},
        {"rules": [{**RULE, "scope": "Cluster"}]},
        {"namespaceSelector": {"matchLabels": {"env": "prod"}}},
        {"objectSelector": {"matchExpressions": [{"key": "guarded", "operator": "Exists"}]}},
        {"matchConditions": [{"name": "never", "expression": "request.name == 'other'"}]},
    ],
)
def test_a_webhook_is_asked_about_what_it_matches_only(cluster: EmbeddedApi, fields: Document) -> None:
    with serving(lambda _: {"allowed": False}) as hook:
        cluster.create(KINDS["validating"], hook.configuration(**fields))
        cluster.create(CONFIG_MAPS, config_map("c"))
    assert hook.requests == []


@pytest.mark.parametrize(("policy", "code"), [("Fail", 500), ("Ignore", 201)])
def test_a_webhook_that_cannot_be_reached_is_handled_by_its_failure_policy(
    cluster: EmbeddedApi, policy: str, code: int
) -> None:
    with serving(allow) as hook:
        pass
    cluster.create(KINDS["validating"], hook.configuration(failurePolicy=policy))
    answer = cluster.answer("POST", CONFIG_MAPS, config_map("c"))
    assert answer.code == code
    if code == 500:
        status = cluster.refusal(500, "POST", CONFIG_MAPS, config_map("c"))
        start = (
            'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "https://'
        )
        assert status["message"].startswith(start)


def test_a_webhook_that_is_too_slow_is_given_up(cluster: EmbeddedApi) -> None:
    released = threading.Event()

    def respond(_: Document) -> Document:
        released.wait(10)
        return {"allowed": True}

    with serving(respond) as hook:
        cluster.create(KINDS["validating"], hook.configuration(timeoutSeconds=1))
        began = time.monotonic()
        status = cluster.refusal(500, "POST", CONFIG_MAPS, config_map("c"))
        released.set()
    assert status["message"].endswith('?timeout=1s": context deadline exceeded')
    assert time.monotonic() - began < 8


def test_a_webhook_with_side_effects_is_not_asked_about_dry_runs(cluster: EmbeddedApi) -> None:
    with serving(allow) as hook:
        cluster.create(KINDS["validating"], hook.configuration(sideEffects="Some"))
        status = cluster.refusal(400, "POST", f"{CONFIG_MAPS}?dryRun=All", config_map("c"))
    assert status["message"] == 'admission webhook "hook.example.com" does not support dry run'
    assert hook.requests == []


@pytest.mark.parametrize(
    "config",
    [
        {"service": {"name": "s", "namespace": "default"}},
        {"url": "https://example.com/x"},
        {"url": "https://192.0.2.1/x"},
    ],
)
def test_other_webhooks_are_stored_with_a_warning_and_not_called(cluster: EmbeddedApi, config: Document) -> None:
    hook = {"name": "hook.example.com", "clientConfig": config, "rules": [RULE], "sideEffects": "None"}
    answer = cluster.answer("POST", KINDS["validating"], {"metadata": {"name": "hooks"}, "webhooks": [hook]})
    assert answer.warnings == ("this cluster calls only webhooks with a url on loopback",)
    cluster.create(CONFIG_MAPS, config_map("c"))


def test_a_webhook_may_read_from_the_server_before_it_answers() -> None:
    """The request that waits for it does not hold up the event loop."""
    asked = threading.Event()
    read = threading.Event()

    def respond(_: Document) -> Document:
        asked.set()
        return {"allowed": read.wait(5)}

    async def body(hook: Hook) -> None:
        cluster = EmbeddedApi()
        cluster.create(KINDS["validating"], hook.configuration())
        async with ApiServer(Listen("127.0.0.1", 0), cluster.service, cluster.tokens) as server:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            async with aiohttp.ClientSession(f"http://127.0.0.1:{server.port}", headers=headers) as client:
                writing = asyncio.create_task(client.post(CONFIG_MAPS, json=config_map("c")))
                await asyncio.to_thread(asked.wait)
                assert (await client.get(CONFIG_MAPS)).status == 200
                read.set()
                assert (await writing).status == 201

    with serving(respond) as hook:
        asyncio.run(body(hook))
