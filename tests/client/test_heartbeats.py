# SPDX-License-Identifier: Apache-2.0
"""Updates of nodes that change nothing are not decoded, and every other update is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.client.following import IMPATIENT, Diary
from tests.equivalence.examples import examples
from tests.framework.field_walk import filled, replace, variations
from tests.hostile.text_server import TextServer
from tests.hostile.watched_documents import BASES, mutated

from steersman import api
from steersman.api import codec
from steersman.base.errors import InputError
from steersman.kube.client.list_watch import BOOKMARK, MODIFIED, ListWatch, RawObjects
from steersman.kube.client.reflector import Reflector


class Nodes(Diary):
    """A reflector of nodes without a connection, and its sink, which can refuse everything."""

    def __init__(self, *, decodes_all: bool = False) -> None:
        super().__init__()
        self.source = ListWatch(TextServer(), api.Node, IMPATIENT)
        if decodes_all:
            self.source._heartbeats = None
        self.reflector = Reflector(self.source, self, IMPATIENT)
        self.refuses = False
        self.delivered: list[api.Node] = []

    def changed(self, obj: api.Object) -> None:
        if self.refuses:
            raise InputError("is refused")
        super().changed(obj)
        assert isinstance(obj, api.Node)
        self.delivered.append(obj)

    def apply(self, document: dict[str, Any], event: str = MODIFIED) -> str:
        """Apply a watch event, and return the type that the reflector got."""
        change = self.source.change_in(line_of(document, event), self.reflector.objects)
        self.reflector._apply(change)
        return change.type


def line_of(document: Any, event: str = MODIFIED) -> bytes:
    """The line as an API server writes it."""
    return json.dumps({"type": event, "object": document}, separators=(",", ":")).encode()


def node(version: int, beat: str = "2030-01-01T00:00:00Z", **status: Any) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": beat}
    managed = [{"manager": "kubelet", "time": beat}]
    return {
        "kind": "Node",
        "apiVersion": "v1",
        "metadata": {"name": "n1", "uid": "u1", "resourceVersion": str(version), "managedFields": managed},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {"allocatable": {"cpu": "4"}, "conditions": [ready], "images": [{"names": ["web"]}], **status},
    }


def test_a_heartbeat_is_not_decoded_and_its_version_is_known() -> None:
    nodes = Nodes()
    assert nodes.apply(node(1)) == MODIFIED
    assert nodes.apply(node(2, "2030-01-01T00:00:10Z")) == BOOKMARK
    assert nodes.reflector.resource_version == "2"
    assert nodes.entries == ["+ n1"]


def test_an_update_after_heartbeats_is_delivered() -> None:
    nodes = Nodes()
    nodes.apply(node(1))
    nodes.apply(node(2))
    assert nodes.apply(node(3, allocatable={"cpu": "8"})) == MODIFIED
    assert nodes.apply(node(4)) == MODIFIED
    assert [one.status.allocatable["cpu"] for one in nodes.delivered] == ["4", "8", "4"]


def test_a_change_of_any_field_is_decoded() -> None:
    first = filled(api.Node)
    for path, other in variations(first):
        nodes = Nodes()
        nodes.apply(json.loads(codec.encode(first)))
        document = json.loads(codec.encode(other))
        expected = BOOKMARK if path == "metadata.resource_version" and other.metadata.resource_version else MODIFIED
        assert nodes.apply(document) == expected, path


def test_a_refused_node_is_delivered_again_with_its_next_heartbeat() -> None:
    nodes = Nodes()
    nodes.refuses = True
    nodes.apply(node(1))
    nodes.refuses = False
    assert nodes.apply(node(2)) == MODIFIED
    assert nodes.entries == ["+ n1"]


def test_a_node_that_was_unreadable_in_between_is_delivered_again() -> None:
    nodes = Nodes()
    nodes.apply(node(1))
    nodes.apply(node(2, images="none"))
    assert nodes.reflector._invalid.objects() != []
    assert nodes.apply(node(3)) == MODIFIED
    assert nodes.reflector._invalid.objects() == []


def test_a_deleted_node_that_comes_back_equal_is_delivered() -> None:
    nodes = Nodes()
    nodes.apply(node(1))
    nodes.apply(node(2), "DELETED")
    assert nodes.source._heartbeats is not None
    assert nodes.source._heartbeats._entries == {}
    assert nodes.apply(node(3)) == MODIFIED
    assert nodes.entries == ["+ n1", "- n1", "+ n1"]


@pytest.mark.parametrize("is_recorded", [False, True])
def test_extenders_and_recordings_get_every_update(is_recorded: bool) -> None:
    class Texts:
        def listed(self, obj: api.Object, text: object) -> None:
            """Ignore it."""

        def watched(self, obj: api.Object, line: bytes) -> None:
            """Ignore it."""

    source = ListWatch(TextServer(), api.Node, IMPATIENT, texts=Texts())
    if not is_recorded:
        raw_objects = RawObjects()
        raw_objects._texts[api.Node] = {}
        source = ListWatch(TextServer(), api.Node, IMPATIENT, raw_objects=raw_objects)
    reflector = Reflector(source, Diary(), IMPATIENT)
    for version in range(3):
        change = source.change_in(line_of(node(version)), reflector.objects)
        assert change.type == MODIFIED
        reflector._apply(change)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, dict[str, Any], bool]]:
    """Events that often repeat one of a few documents, with their versions; some nodes are refused."""
    base = st.sampled_from(BASES[api.Node])
    documents = draw(st.lists(base.flatmap(mutated), min_size=1, max_size=3))
    events = st.sampled_from(["ADDED", *[MODIFIED] * 6, "DELETED"])
    return draw(st.lists(st.tuples(events, st.sampled_from(documents), st.booleans()), max_size=12))


@given(histories())
@examples(200)
def test_the_sink_has_the_same_nodes_as_if_every_update_were_decoded(history: Any) -> None:
    nodes, twin = Nodes(), Nodes(decodes_all=True)
    for version, (event, document, is_refused) in enumerate(history):
        meta = document["metadata"]
        if isinstance(meta, dict):
            document = {**document, "metadata": {**meta, "resourceVersion": str(version)}}
        for one in (nodes, twin):
            # A sink that accepted a node accepts its heartbeats.
            one.refuses = is_refused and event != MODIFIED
            one.apply(document, event)
        assert nodes.reflector.resource_version == twin.reflector.resource_version
        assert _in_use(nodes) == _in_use(twin)
        assert _invalid(nodes) == _invalid(twin)


def _in_use(nodes: Nodes) -> dict[str, api.Node]:
    """The nodes without their versions, which heartbeats do not change."""
    return {
        key: replace(obj, metadata=replace(obj.metadata, resource_version=""))
        for key, obj in nodes.reflector.objects.items()
    }


def _invalid(nodes: Nodes) -> list[str]:
    return [one.identity.key for one in nodes.reflector._invalid.objects()]
