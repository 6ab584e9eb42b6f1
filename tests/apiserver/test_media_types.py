# SPDX-License-Identifier: Apache-2.0
"""Bodies of requests: which types are read, and what clients hear of one that is not."""

from __future__ import annotations

import pytest
from tests.apiserver.embedded_api import CONFIG_MAPS, EmbeddedApi, config_map

UNKNOWN_FORMAT = "the body of the request was in an unknown format - accepted media types include: "
OF_OBJECTS = UNKNOWN_FORMAT + "application/json, application/yaml, application/vnd.kubernetes.protobuf"


@pytest.fixture
def cluster() -> EmbeddedApi:
    made = EmbeddedApi()
    made.create(CONFIG_MAPS, config_map("old"))
    return made


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/cbor", "text/yaml"])
@pytest.mark.parametrize(("method", "place"), [("POST", ""), ("PUT", "/old"), ("DELETE", "/old")])
def test_an_object_of_a_type_that_is_not_read_is_refused(
    cluster: EmbeddedApi, kind: str, method: str, place: str
) -> None:
    status = cluster.refusal(415, method, CONFIG_MAPS + place, config_map("old"), **{"content-type": kind})
    assert (status["reason"], status["message"]) == ("UnsupportedMediaType", OF_OBJECTS)


@pytest.mark.parametrize("kind", ["text/plain", "application/json", ""])
def test_a_patch_of_a_type_that_is_not_read_is_refused_before_it_is_decoded(cluster: EmbeddedApi, kind: str) -> None:
    status = cluster.refusal(415, "PATCH", f"{CONFIG_MAPS}/old", b"no patch", **{"content-type": kind})
    assert status["reason"] == "UnsupportedMediaType"
    assert status["message"].startswith(UNKNOWN_FORMAT + "application/json-patch+json, ")


@pytest.mark.parametrize("kind", ["", "application/json", "Application/JSON; charset=utf-8"])
def test_a_body_without_a_type_is_json(cluster: EmbeddedApi, kind: str) -> None:
    answer = cluster.answer("POST", CONFIG_MAPS, config_map("new"), {"content-type": kind})
    assert answer.code == 201


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (
            rb'{"data": {"a": "\ud800"}}',
            r"line 1: the escape \ud800 is half of a surrogate pair, which is no character",
        ),
        (b'{"data": {"a": "\xff"}}', "the body is not UTF-8 text"),
        (b'{"data": {"a": "', "line 1: the JSON ends in the middle"),
    ],
)
def test_a_body_that_is_no_json_is_refused_with_the_reason(cluster: EmbeddedApi, body: bytes, why: str) -> None:
    message = cluster.refusal(400, "POST", CONFIG_MAPS, body)["message"]
    assert message.startswith(f"the object provided is unrecognized: {why}")
