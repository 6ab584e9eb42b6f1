# SPDX-License-Identifier: Apache-2.0
"""Custom resources here and at a real kube-apiserver: what is valid, the words for what is not, defaults and pruning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.apiserver.custom_resources import INVALID, SCHEMA, VALID, database, definition

from steersman.cluster.apiserver.invalid_objects import InvalidObject, refuse
from steersman.cluster.apiserver.structural_schemas import defaulted, problems_of, pruned
from steersman.testing.control_plane import KubeClient, ServerRefusal

PATH = "/apis/example.com/v1/namespaces/default/databases"


@pytest.fixture(scope="module")
def server(shared_plane: Any) -> Iterator[KubeClient]:
    admin: KubeClient = shared_plane.admin
    admin.create(definition())
    admin.wait_until(lambda: admin.raw("GET", PATH).status == 200, what="the kind is served")
    yield admin
    admin.raw("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/databases.example.com")


def ours(document: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    complete = defaulted(pruned(document, SCHEMA), SCHEMA)
    refuse("example.com/v1", "Database", "d", problems_of(complete, SCHEMA, old))
    return complete


@pytest.mark.parametrize("name", INVALID)
def test_what_is_invalid_is_refused_in_the_same_words(server: KubeClient, name: str) -> None:
    with pytest.raises(ServerRefusal) as theirs:
        server.request("POST", PATH, INVALID[name], query={"fieldValidation": "Ignore"})
    with pytest.raises(InvalidObject) as refusal:
        ours(INVALID[name])
    causes = theirs.value.status["details"]["causes"]
    expected = sorted((cause["reason"], cause["field"], cause["message"]) for cause in causes)
    assert sorted((cause.reason, cause.field, cause.message) for cause in refusal.value.causes) == expected
    if len(causes) <= 2:  # a kube-apiserver tells several in any order
        assert refusal.value.message == theirs.value.status["message"]


@pytest.mark.parametrize("name", VALID)
def test_what_is_valid_is_stored_alike(server: KubeClient, name: str) -> None:
    stored = server.request("POST", PATH, VALID[name], query={"dryRun": "All", "fieldValidation": "Ignore"})
    mine = ours(VALID[name])
    assert {**mine, "metadata": None} == {**stored, "metadata": None}


def test_transition_rules_compare_with_what_was_there(server: KubeClient) -> None:
    server.request("POST", PATH, database(fixed="a"))
    old = server.request("GET", f"{PATH}/d")
    changed = {**old, "spec": {**old["spec"], "fixed": "b"}}
    with pytest.raises(ServerRefusal) as theirs:
        server.request("PUT", f"{PATH}/d", changed)
    server.request("DELETE", f"{PATH}/d", {})
    with pytest.raises(InvalidObject) as refusal:
        ours(changed, old)
    assert refusal.value.message == theirs.value.status["message"]
