# SPDX-License-Identifier: Apache-2.0
"""Objects, lists, discovery, refusals and watches in protobuf: the same bytes as a real kube-apiserver writes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest
import yaml

from steersman.cluster.apiserver.media_types import PROTOBUF
from steersman.cluster.apiserver.protobuf_encoding import encoded_frame, encoded_object
from steersman.testing.control_plane import JsonObject, KubeClient

OBJECTS: Final = [one for one in yaml.safe_load_all(Path(__file__).with_name("objects.yaml").read_text()) if one]
#: Kinds whose names follow from their fields.
NAMED_BY_RULE: Final = ("APIService", "CustomResourceDefinition")
TRIES: Final = 5
MEASURED_NOW: Final = "componentstatuses"
"""A resource whose objects differ from request to request."""


def assert_same(admin: KubeClient, path: str) -> None:
    """Compare the encoding of what the server answers in JSON; again if the object has changed in between."""
    for attempt in range(TRIES):
        ours = encoded_object(admin.raw("GET", path).json())
        theirs = admin.raw("GET", path, headers={"Accept": PROTOBUF})
        assert theirs.headers["content-type"] == PROTOBUF
        if ours == theirs.body or attempt == TRIES - 1:
            break
        time.sleep(1)
    assert ours == theirs.body, path


def renamed(obj: JsonObject) -> JsonObject:
    """Return the object under a name that no other test on the same server uses."""
    if obj["kind"] in NAMED_BY_RULE:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "name": f"protobuf-{obj['metadata']['name']}"}}


@pytest.mark.parametrize("obj", OBJECTS, ids=[f"{obj['kind']}-{obj['metadata']['name']}" for obj in OBJECTS])
def test_an_object_has_the_same_bytes(admin: KubeClient, obj: JsonObject) -> None:
    created = admin.create(renamed(obj))
    path = admin.path(created["kind"], created["metadata"]["name"], created["metadata"].get("namespace", ""))
    try:
        assert_same(admin, path)
    finally:
        admin.request("DELETE", path, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"})


def test_lists_of_all_kinds_and_discovery_have_the_same_bytes(admin: KubeClient) -> None:
    groups = admin.raw("GET", "/apis").json()["groups"]
    versions = ["/api/v1", *(f"/apis/{one['groupVersion']}" for group in groups for one in group["versions"])]
    compared = 0
    for prefix in versions:
        assert_same(admin, prefix)
        for resource in admin.raw("GET", prefix).json()["resources"]:
            if "list" in resource["verbs"] and resource["name"] != MEASURED_NOW:
                assert_same(admin, f"{prefix}/{resource['name']}")
                compared += 1
    for path in ("/api", "/apis"):
        assert_same(admin, path)
    assert compared > 40


@pytest.mark.parametrize("path", ["/api/v1/namespaces/nope", "/api/v1/nopes"])
def test_a_refusal_has_the_same_bytes(admin: KubeClient, path: str) -> None:
    assert_same(admin, path)


def test_events_of_a_watch_have_the_same_bytes(admin: KubeClient) -> None:
    path = "/api/v1/namespaces?watch=1&fieldSelector=metadata.name%3Ddefault&timeoutSeconds=1"
    line = admin.raw("GET", path).json()
    frame = admin.raw("GET", path, headers={"Accept": f"{PROTOBUF};stream=watch"})
    assert frame.headers["content-type"] == f"{PROTOBUF};stream=watch"
    assert frame.body == encoded_frame(line["type"], line["object"])
