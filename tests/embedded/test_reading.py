# SPDX-License-Identifier: Apache-2.0
"""What plugins read of the embedded cluster: as an API server would answer, and no lie about kinds that are not there."""

from __future__ import annotations

import asyncio

import pytest
from tests.embedded.stores import make_store

from steersman import api
from steersman.cluster.store import Store, StoreReader
from steersman.framework import ApiReadError
from steersman.testing import make_node, make_pod

TARIFF = api.custom_kind("example.com/v1", "Tariff", "tariffs")


@pytest.fixture
def store() -> Store:
    store = make_store()
    store.create(make_node("n1").obj())
    store.create(make_node("n2").unschedulable().obj())
    store.create(make_pod("web").namespace("shop").label("app", "web").node("n1").obj())
    store.create(make_pod("db").namespace("bank").label("app", "db").obj())
    return store


@pytest.fixture
def client(store: Store) -> StoreReader:
    return StoreReader(store)


def test_an_object_is_found_or_not(client: StoreReader) -> None:
    found = asyncio.run(client.get(api.Pod, "web", "shop"))
    assert found is not None
    assert found.spec.node_name == "n1"
    assert asyncio.run(client.get(api.Pod, "web", "bank")) is None


def test_documents_have_their_kind(client: StoreReader) -> None:
    document = asyncio.run(client.get_document("v1", "nodes", "n1"))
    assert document is not None
    assert (document["apiVersion"], document["kind"], document["metadata"]["name"]) == ("v1", "Node", "n1")
    assert asyncio.run(client.list_documents("v1", "Node"))[0] == document


@pytest.mark.parametrize(
    ("namespace", "labels", "fields", "expected"),
    [
        ("", "", "", ["db", "web"]),
        ("shop", "", "", ["web"]),
        ("", "app!=db", "", ["web"]),
        ("", "", "spec.nodeName=n1", ["web"]),
        ("", "", "spec.nodeName=", ["db"]),
        ("", "", "metadata.name!=web,metadata.namespace=bank", ["db"]),
    ],
)
def test_lists_are_selected(client: StoreReader, namespace: str, labels: str, fields: str, expected: list[str]) -> None:
    found = asyncio.run(client.list(api.Pod, namespace, label_selector=labels, field_selector=fields))
    assert [pod.metadata.name for pod in found] == expected


def test_a_boolean_field_is_compared_as_text(client: StoreReader) -> None:
    found = asyncio.run(client.list(api.Node, field_selector="spec.unschedulable=true"))
    assert [node.metadata.name for node in found] == ["n2"]


def test_a_field_that_no_server_selects_by_is_refused(client: StoreReader) -> None:
    with pytest.raises(
        ApiReadError, match=r"field_selector: nodes cannot be selected by spec.nodeName; possible: metada"
    ):
        asyncio.run(client.list(api.Node, field_selector="spec.nodeName=n1"))


def test_a_selector_that_is_none_is_refused(client: StoreReader) -> None:
    with pytest.raises(ApiReadError, match=r'list pods: is not a label selector \(got "a=b=c"\)') as refused:
        asyncio.run(client.list(api.Pod, label_selector="a=b=c"))
    assert refused.value.code == 400


def test_an_undeclared_kind_is_an_error(client: StoreReader) -> None:
    with pytest.raises(ApiReadError, match=r"does not have Tariff of example.com/v1; name its class in `reads`"):
        asyncio.run(client.list(TARIFF))
    with pytest.raises(ApiReadError, match=r"does not have tariffs of example.com/v1"):
        asyncio.run(client.get_document("example.com/v1", "tariffs", "day", "shop"))


def test_a_declared_kind_is_served(store: Store, client: StoreReader) -> None:
    client.serve([TARIFF])
    assert asyncio.run(client.list(TARIFF)) == []
    store.create(TARIFF(metadata=api.ObjectMeta(name="day", namespace="shop"), spec={"price": 7}))
    document = asyncio.run(client.get_document("example.com/v1", "Tariff", "day", "shop"))
    assert document is not None
    assert document["spec"] == {"price": 7}
