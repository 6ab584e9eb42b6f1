# SPDX-License-Identifier: Apache-2.0
"""Answers in Kubernetes' protobuf encoding: bytes by hand, round trips of every message, and what clients get."""

from __future__ import annotations

import asyncio
import base64
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.apiserver.custom_resources import database, definition
from tests.apiserver.embedded_api import CONFIG_MAPS, PODS, EmbeddedApi, config_map, pod
from tests.equivalence.examples import examples

from scripts import protobuf_fields
from steersman.api import timestamps
from steersman.cluster.apiserver import protobuf_table
from steersman.cluster.apiserver.media_types import PROTOBUF
from steersman.cluster.apiserver.protobuf import decoded_object
from steersman.cluster.apiserver.protobuf_encoding import NotEncodable, encoded_object
from steersman.cluster.apiserver.protobuf_table import EXTENSIONS, INT_OR_STRING, META, QUANTITY, RAW_JSON, STRING_LISTS
from steersman.cluster.apiserver.requests import WatchAnswer
from steersman.cluster.apiserver.service import MAX_ENCODED_IN_LOOP
from steersman.cluster.store import Document

ROOT = Path(__file__).parent.parent.parent
PARTIAL = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
WITH_JSON = f"{PROTOBUF},application/json"
DATABASES = "/apis/example.com/v1/namespaces/default/databases"
DEADLINE_SECONDS = 10.0


@pytest.fixture(scope="module", autouse=True)
def table() -> None:
    """The table is made when the package is built, for which Go is needed."""
    problem = protobuf_fields.make(ROOT)
    if problem and not os.environ.get("CI"):
        pytest.skip(problem)
    assert not problem


@pytest.fixture
def cluster() -> EmbeddedApi:
    return EmbeddedApi()


def asked(cluster: EmbeddedApi, method: str, url: str, sent: object = None, accept: str = PROTOBUF) -> Document:
    """Return what a client that accepts protobuf reads."""
    answer = cluster.answer(method, url, sent, {"accept": accept})
    assert answer.content_type == PROTOBUF, answer
    return decoded_object(answer.content())


# -- bytes -------------------------------------------------------------------------------------------------------------


def test_the_reader_and_the_generator_agree_on_the_format_of_the_table() -> None:
    assert protobuf_table.FORMAT == protobuf_fields.FORMAT


def test_a_table_in_an_older_format_is_written_again(tmp_path: Path) -> None:
    target = tmp_path / protobuf_fields.TARGET
    target.parent.mkdir(parents=True)
    target.write_text('{"packages": {}, "messages": {}}')
    assert protobuf_fields.make(tmp_path) == ""
    assert f'"format":{protobuf_fields.FORMAT}' in target.read_text()[:20]


def test_a_status_has_the_bytes_of_a_kube_apiserver() -> None:
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'namespaces "nope" not found',
        "reason": "NotFound",
        "details": {"name": "nope", "kind": "namespaces"},
        "code": 404,
    }
    assert encoded_object(status) == (
        b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12U\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a\x1b"
        b'namespaces "nope" not found"\x08NotFound*\x18\n\x04nope\x12\x00\x1a\nnamespaces(\x002\x000\x94\x03\x1a\x00"\x00'
    )


def message(document: Document) -> bytes:
    """Return the encoded object without its envelope, of at most 127 bytes."""
    encoded = encoded_object(document)
    start = encoded.index(document["kind"].encode() + b"\x12") + len(document["kind"]) + 2
    return encoded[start : -len(b'\x1a\x00"\x00')]


def test_values_are_written_if_zero_and_pointers_if_set() -> None:
    zero_metadata = b'\n\x10\n\x00\x12\x00\x1a\x00"\x00*\x002\x008\x00B\x00'
    assert message({"apiVersion": "v1", "kind": "ConfigMap"}) == zero_metadata
    assert message({"apiVersion": "v1", "kind": "ConfigMap", "immutable": False}) == zero_metadata + b"\x20\x00"


def test_maps_are_sorted_by_key() -> None:
    written = message({"apiVersion": "v1", "kind": "ConfigMap", "data": {"b": "2", "a": "1"}})
    assert written.endswith(b"\x12\x06\n\x01a\x12\x011\x12\x06\n\x01b\x12\x012")


def test_a_value_of_another_type_is_an_error_that_names_the_kind() -> None:
    with pytest.raises(NotEncodable, match="v1 ConfigMap does not fit its protobuf message"):
        encoded_object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": 3}})


# -- round trips -------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
NUMBERS = st.integers(-(1 << 31), (1 << 31) - 1).filter(bool)
JSON_TEXTS: st.SearchStrategy[Any] = st.dictionaries(TEXTS, NUMBERS | TEXTS, min_size=1, max_size=2)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "s": TEXTS,
    "i": NUMBERS,
    "b": st.just(True),
    "y": st.binary(min_size=1, max_size=4).map(lambda data: base64.b64encode(data).decode()),
    "d": st.floats(-1e6, 1e6).filter(bool),
    f"{META}.Time": st.integers(1, 4_000_000_000).map(timestamps.render),
    f"{META}.MicroTime": st.integers(1, 4_000_000_000).map(lambda seconds: timestamps.render_micro(seconds + 0.000123)),
    QUANTITY: st.sampled_from(["100m", "1Gi", "3", "1500k"]),
    INT_OR_STRING: NUMBERS | TEXTS,
    f"{EXTENSIONS}.JSONSchemaPropsOrArray": st.just([{"type": "string"}]) | st.just({"type": "integer"}),
    f"{EXTENSIONS}.JSONSchemaPropsOrBool": st.booleans() | st.just({"type": "integer"}),
    f"{EXTENSIONS}.JSONSchemaPropsOrStringArray": st.just(["a", "b"]) | st.just({"type": "integer"}),
    **dict.fromkeys(RAW_JSON, JSON_TEXTS),
    **dict.fromkeys(STRING_LISTS, st.lists(TEXTS, min_size=1, max_size=2)),
}
KINDS = ("Pod", "Node", "Service", "PersistentVolume", "Secret", "Event", "ResourceQuota", "PodTemplate", "Endpoints")
GROUPED = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "ControllerRevision"),
    ("batch/v1", "CronJob"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("networking.k8s.io/v1", "Ingress"),
    ("resource.k8s.io/v1", "ResourceSlice"),
    ("resource.k8s.io/v1", "ResourceClaim"),
    ("coordination.k8s.io/v1", "Lease"),
    ("certificates.k8s.io/v1", "CertificateSigningRequest"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
)


@st.composite
def documents(draw: st.DrawFn, name: str, depth: int = 0) -> Document:
    """A document of a message with a few of its fields, none of them zero."""
    fields = list(protobuf_table.field_types(name).values())
    chosen = draw(st.lists(st.sampled_from(fields), max_size=4, unique=True)) if fields else []
    document: Document = {}
    for field in chosen:
        known = VALUES.get(field.type)
        if known is None and depth > 5:
            continue
        value = known if known is not None else documents(field.type, depth + 1)
        if field.is_list:
            document[field.name] = draw(st.lists(value, min_size=1, max_size=2))
        elif field.is_map:
            document[field.name] = draw(st.dictionaries(TEXTS, value, min_size=1, max_size=3))
        elif field.name:
            document[field.name] = draw(value)
        else:
            document |= draw(value)
    return document


def contains(whole: Any, part: Any) -> bool:
    """Return whether every value of `part` is in `whole`; an empty struct may be absent."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            contains(whole.get(name, {} if isinstance(value, dict) else None), value) for name, value in part.items()
        )
    if isinstance(part, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return bool(whole == part)


@pytest.mark.parametrize(("api_version", "kind"), [*(("v1", kind) for kind in KINDS), *GROUPED])
@examples(10)
@given(data=st.data())
def test_what_is_encoded_is_decoded_again(api_version: str, kind: str, data: st.DataObject) -> None:
    name = protobuf_table.message_of(api_version, kind)
    assert name is not None
    document = {"apiVersion": api_version, "kind": kind, **data.draw(documents(name))}
    encoded = encoded_object(document)
    decoded = decoded_object(encoded)
    assert contains(decoded, document)
    assert encoded_object(decoded) == encoded


# -- answers -----------------------------------------------------------------------------------------------------------


def test_writes_and_reads_are_answered_in_protobuf(cluster: EmbeddedApi) -> None:
    created = asked(cluster, "POST", PODS, pod("web"))
    assert (created["kind"], created["metadata"]["name"]) == ("Pod", "web")
    read = cluster.get(f"{PODS}/web")
    assert contains(asked(cluster, "GET", f"{PODS}/web"), {"spec": {"containers": [{"name": "app", "image": "nginx"}]}})
    assert asked(cluster, "GET", f"{PODS}/web")["metadata"]["uid"] == read["metadata"]["uid"]
    listed = asked(cluster, "GET", PODS)
    assert (listed["kind"], [item["metadata"]["name"] for item in listed["items"]]) == ("PodList", ["web"])
    assert asked(cluster, "DELETE", f"{PODS}/web")["kind"] == "Pod"


def test_patches_updates_and_deletions_are_answered_in_protobuf(cluster: EmbeddedApi) -> None:
    cluster.create(CONFIG_MAPS, config_map("a"))
    url, headers = f"{CONFIG_MAPS}/a", {"accept": PROTOBUF, "content-type": "application/merge-patch+json"}
    assert decoded_object(cluster.answer("PATCH", url, {"data": {"x": "1"}}, headers).content())["data"] == {"x": "1"}
    assert asked(cluster, "PUT", url, config_map("a", data={"y": "2"}))["data"] == {"y": "2"}
    assert asked(cluster, "DELETE", url)["status"] == "Success"


def test_refusals_are_answered_in_protobuf(cluster: EmbeddedApi) -> None:
    status = asked(cluster, "GET", f"{PODS}/nope")
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 404, "NotFound")


def test_the_first_type_that_the_server_can_write_is_taken(cluster: EmbeddedApi) -> None:
    tables = f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"
    assert cluster.get(PODS, accept=f"{tables},application/json")["kind"] == "PodList"
    assert asked(cluster, "GET", PODS, accept=WITH_JSON)["kind"] == "PodList"
    assert cluster.get(PODS, accept=f"application/json,{PROTOBUF}")["kind"] == "PodList"
    assert cluster.refusal(406, "GET", PODS, accept=tables)["reason"] == "NotAcceptable"


def test_custom_resources_are_json_and_refused_to_clients_of_protobuf_alone(cluster: EmbeddedApi) -> None:
    cluster.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
    cluster.create(DATABASES, database())
    assert cluster.get(f"{DATABASES}/d", accept=WITH_JSON)["metadata"]["name"] == "d"
    assert asked(cluster, "GET", f"{DATABASES}/d")["code"] == 406
    assert asked(cluster, "GET", f"{DATABASES}/d", accept=PARTIAL)["metadata"]["name"] == "d"


def test_discovery_is_answered_in_protobuf(cluster: EmbeddedApi) -> None:
    assert asked(cluster, "GET", "/api")["versions"] == ["v1"]
    resources = {one["name"]: one for one in asked(cluster, "GET", "/api/v1")["resources"]}
    assert resources["pods/binding"]["verbs"] == ["create"]
    assert "apps" in [group["name"] for group in asked(cluster, "GET", "/apis")["groups"]]


def test_long_lists_are_encoded_outside_of_the_event_loop(cluster: EmbeddedApi) -> None:
    for number in range(MAX_ENCODED_IN_LOOP + 1):
        cluster.create(CONFIG_MAPS, config_map(f"c{number:03}"))
    answer = cluster.answer("GET", CONFIG_MAPS, headers={"accept": PROTOBUF})
    assert not isinstance(answer.body, bytes)
    assert len(decoded_object(answer.body())["items"]) == MAX_ENCODED_IN_LOOP + 1


def frames(data: bytes) -> list[tuple[str, Document]]:
    """Return type and object of each event of a watch."""
    found = []
    while data:
        size = int.from_bytes(data[:4])
        event, data = data[4 : 4 + size], data[4 + size :]
        kind, _, raw = event.partition(b"k8s\x00")
        found.append((kind[2 : 2 + kind[1]].decode(), decoded_object(b"k8s\x00" + raw)))
    return found


async def first_piece(cluster: EmbeddedApi, url: str, accept: str) -> list[tuple[str, Document]]:
    answer = cluster.ask("GET", url, headers={"accept": accept})
    assert isinstance(answer, WatchAnswer)
    assert answer.content_type == f"{PROTOBUF};stream=watch"
    async with asyncio.timeout(DEADLINE_SECONDS):
        return frames(await anext(answer.stream.pieces()))


def test_a_watch_sends_frames_of_protobuf(cluster: EmbeddedApi) -> None:
    cluster.create(CONFIG_MAPS, config_map("a"))
    version = cluster.store.resource_version
    cluster.update(f"{CONFIG_MAPS}/a", config_map("a", data={"x": "1"}))
    cluster.delete(f"{CONFIG_MAPS}/a")
    url = f"{CONFIG_MAPS}?watch=1&resourceVersion={version}"
    events = asyncio.run(first_piece(cluster, url, f"{PROTOBUF};stream=watch,application/json"))
    assert [(what, one["kind"], one["metadata"]["name"]) for what, one in events] == [
        ("MODIFIED", "ConfigMap", "a"),
        ("DELETED", "ConfigMap", "a"),
    ]


def test_bookmarks_of_a_watch_of_metadata_have_its_kind(cluster: EmbeddedApi) -> None:
    initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    events = asyncio.run(first_piece(cluster, f"{CONFIG_MAPS}?watch=1&{initial}", PARTIAL))
    assert [(what, one["kind"]) for what, one in events] == [("BOOKMARK", "PartialObjectMetadata")]
    assert events[0][1]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
