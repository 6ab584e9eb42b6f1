# SPDX-License-Identifier: Apache-2.0
"""Bodies in Kubernetes' protobuf encoding, written here by hand, number by number."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import protobuf_fields
from steersman.cluster.apiserver import protobuf_table
from steersman.cluster.apiserver.protobuf import (
    ENDS_IN_A_NUMBER,
    NOT_PROTOBUF,
    OTHER_TYPE,
    OUT_OF_RANGE,
    decoded_object,
)
from steersman.cluster.apiserver.protobuf_table import MAGIC, NO_TABLE
from steersman.cluster.apiserver.statuses import RequestRefused

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def table() -> None:
    """The table is made when the package is built, for which Go is needed."""
    problem = protobuf_fields.make(ROOT)
    if problem and not os.environ.get("CI"):
        pytest.skip(problem)
    assert not problem


def field(number: int, value: bytes | str | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _varint(number: int) -> bytes:
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _varint(rest) if rest else bytes([low])


def body(api_version: str, kind: str, message: bytes) -> bytes:
    return MAGIC + field(1, field(1, api_version) + field(2, kind)) + field(2, message)


@pytest.mark.usefixtures("table")
def test_a_pod_is_read_with_lists_maps_and_messages_in_messages() -> None:
    metadata = field(1, "web") + field(3, "default") + field(11, field(1, "app") + field(2, "web"))
    container = field(1, "main") + field(2, "nginx")
    pod = field(1, metadata) + field(2, field(2, container) + field(2, field(1, "side")) + field(10, "n1"))
    assert decoded_object(body("v1", "Pod", pod)) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "nginx"}, {"name": "side"}], "nodeName": "n1"},
    }


@pytest.mark.usefixtures("table")
def test_a_pointer_to_zero_is_not_absent() -> None:
    assert decoded_object(body("v1", "DeleteOptions", field(1, 0))) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
    }


@pytest.mark.usefixtures("table")
def test_fields_of_later_versions_are_passed_over() -> None:
    later = field(1, field(1, "web")) + field(4000, "new")
    assert decoded_object(body("v1", "Pod", later))["metadata"] == {"name": "web"}


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("cut", [b"", b"{}", MAGIC, MAGIC + b"\xff", body("v1", "Pod", field(1, "x"))[:-1]])
def test_what_is_no_message_is_refused(cut: bytes) -> None:
    with pytest.raises(RequestRefused) as refused:
        decoded_object(cut)
    assert refused.value.code == 400
    assert refused.value.message.startswith(NOT_PROTOBUF)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("broken", "why"),
    [
        (MAGIC + b"\xff", ENDS_IN_A_NUMBER),
        (MAGIC + b"\x09\x00", ENDS_IN_A_NUMBER),
        (body("v1", "Pod", field(1, "x"))[:-1], "a field is longer than the message"),
        (body("v1", "Pot", b""), 'no kind "Pot" is registered for version "v1"'),
        (body("v1", "Pod", field(1, 3)), OTHER_TYPE),
        (MAGIC + field(1, 3), OTHER_TYPE),
        (body("v1", "Pod", field(1, field(1, b"\xff"))), "a text in it is not UTF-8"),
        (body("v1", "Pod", field(1, field(8, field(1, 1 << 62)))), OUT_OF_RANGE),
        (
            MAGIC + field(4, "application/json") + field(2, b"{"),
            "the JSON in it cannot be read: Input data was truncated",
        ),
    ],
)
def test_a_sentence_says_what_is_wrong_with_a_message(broken: bytes, why: str) -> None:
    with pytest.raises(RequestRefused) as refused:
        decoded_object(broken)
    assert (refused.value.code, refused.value.message) == (400, f"{NOT_PROTOBUF}: {why}")


@pytest.fixture
def without_table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(protobuf_table, "TABLE", "there-is-no-such-table.json")
    caches = (protobuf_table._table, protobuf_table.message_of)
    for cached in caches:
        cached.cache_clear()
    yield
    for cached in caches:
        cached.cache_clear()


@pytest.mark.usefixtures("without_table")
def test_an_installation_without_the_table_says_so() -> None:
    with pytest.raises(RequestRefused) as refused:
        decoded_object(body("v1", "Pod", b""))
    assert (refused.value.code, refused.value.message) == (415, NO_TABLE)
