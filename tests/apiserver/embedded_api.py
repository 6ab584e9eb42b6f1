# SPDX-License-Identifier: Apache-2.0
"""An API on an embedded cluster, without HTTP: requests in, answers and documents out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec

from steersman import api
from steersman.base.clock import ManualClock
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.custom_resources import CustomResources
from steersman.cluster.apiserver.pages import Pages
from steersman.cluster.apiserver.requests import ApiAnswer, ApiRequest, WatchAnswer
from steersman.cluster.apiserver.reviews import Tokens, TokenUser
from steersman.cluster.apiserver.service import ApiService
from steersman.cluster.store import Document, KubeAdmission, Store
from steersman.cluster.store.store import HISTORY_LENGTH
from steersman.config import DEFAULT_GATES, FeatureGates

TOKEN = "a token"
PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
START = 1_767_225_600.0


class EmbeddedApi:
    """A store with a namespace, and the service on it. `api_server_admission`: pods are admitted as in a sandbox."""

    def __init__(
        self, history: int = HISTORY_LENGTH, *, api_server_admission: bool = False, gates: FeatureGates = DEFAULT_GATES
    ) -> None:
        self.clock = ManualClock(START)
        self.store = Store(
            self.clock,
            admission=KubeAdmission(
                enforces_classes=api_server_admission,
                assigns_service_accounts=api_server_admission,
                group_policies=gates.enabled("PodGroupPreemptionPolicy"),
            ),
            keeps_documents=True,
            history=history,
            awaited_finalizers=None,
        )
        self.store.create(api.Namespace(metadata=api.ObjectMeta(name="default")))
        self.catalog = Catalog(gates=gates)
        self.customs = CustomResources(self.store, self.catalog)
        self.tokens = Tokens(self.store, TOKEN)
        self.service = ApiService(
            self.store, self.catalog, self.customs, self.tokens, Pages(self.catalog, self.customs, "127.0.0.1:6443")
        )

    def ask(
        self, method: str, url: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> ApiAnswer | WatchAnswer:
        target = urlsplit(url)
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        fields = {"content-type": "application/json", "accept": "application/json", **(headers or {})}
        query = dict(parse_qsl(target.query, keep_blank_values=True))
        return self.service.answer(ApiRequest(method, target.path, query, fields, data, TokenUser("somebody")))

    def answer(self, method: str, url: str, body: object = None, headers: Mapping[str, str] | None = None) -> ApiAnswer:
        """Of a request that is no watch."""
        found = self.ask(method, url, body, headers)
        assert isinstance(found, ApiAnswer)
        return found

    def get(self, url: str, **headers: str) -> Document:
        return self._document(self.answer("GET", url, headers=headers), 200)

    def create(self, url: str, document: Document) -> Document:
        return self._document(self.answer("POST", url, document), 201)

    def update(self, url: str, document: Document) -> Document:
        return self._document(self.answer("PUT", url, document), 200)

    def patch(self, url: str, patch: object, kind: str = "application/merge-patch+json") -> Document:
        return self._document(self.answer("PATCH", url, patch, {"content-type": kind}), 200)

    def delete(self, url: str, options: Document | None = None) -> Document:
        return self._document(self.answer("DELETE", url, options), 200)

    def refusal(self, code: int, method: str, url: str, body: object = None, **headers: str) -> Document:
        """The Status of a request that is refused with that code."""
        status = self._document(self.answer(method, url, body, headers or None), code)
        assert status["kind"] == "Status"
        assert status["status"] == "Failure"
        assert status["code"] == code
        return status

    def _document(self, answer: ApiAnswer, code: int) -> Document:
        body = answer.content()
        assert answer.code == code, body
        document: Document = msgspec.json.decode(body)
        return document


def config_map(name: str, **fields: Any) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


def pod(name: str, **spec: Any) -> Document:
    containers = [{"name": "app", "image": "nginx", "env": [{"name": "COLOUR", "value": "red"}]}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": containers, **spec},
    }


def names(listed: Document) -> list[str]:
    return [item["metadata"]["name"] for item in listed["items"]]
