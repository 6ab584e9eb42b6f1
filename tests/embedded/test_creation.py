# SPDX-License-Identifier: Apache-2.0
"""What the store adds to an object that is created."""

from __future__ import annotations

from uuid import UUID

import msgspec
import pytest
from tests.embedded.stores import START_TEXT, bare_pod, clock_of, make_store, raw, with_meta

from steersman import api
from steersman.cluster.store import AlreadyExists, Invalid
from steersman.testing import make_node, make_pod, make_replica_set


def test_a_created_object_is_stored_and_given_back_complete() -> None:
    store = make_store()
    created = store.create(bare_pod())
    assert store.get(api.Pod, "default/web") is created
    assert str(UUID(created.metadata.uid)) == created.metadata.uid
    assert created.metadata.creation_timestamp == START_TEXT


def test_an_object_without_a_namespace_goes_to_the_default_one() -> None:
    created = make_store().create(api.Pod(metadata=api.ObjectMeta(name="web")))
    assert api.key(created) == "default/web"


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    created = make_store().create(with_meta(raw(make_node("n1")), namespace="default"))
    assert created.metadata.namespace == ""


def test_every_write_gets_the_next_resource_version() -> None:
    store = make_store()
    versions = [int(store.create(bare_pod(name)).metadata.resource_version) for name in ("a", "b", "c")]
    assert versions == [versions[0], versions[0] + 1, versions[0] + 2]
    assert store.resource_version == str(versions[-1])


def test_what_a_dump_brings_along_is_kept() -> None:
    dumped = make_pod("web").uid("abc").created("2020-01-01T00:00:00Z").resource_version(999).phase("Running").obj()
    dumped = with_meta(dumped, generation=7)
    created = make_store().create(dumped)
    assert (created.metadata.uid, created.metadata.creation_timestamp) == ("abc", "2020-01-01T00:00:00Z")
    assert created.metadata.generation == 7
    assert created.status.phase == "Running"
    assert created.metadata.resource_version != "999"


def test_a_recreated_object_has_another_uid() -> None:
    store = make_store()
    uids = set()
    for _ in range(3):
        uids.add(store.create(bare_pod()).metadata.uid)
        store.delete(api.Pod, "default/web")
    assert len(uids) == 3


def test_uids_differ_although_namespace_and_name_read_the_same() -> None:
    store = make_store()
    first = store.create(raw(make_pod("c").namespace("a-b")))
    second = store.create(raw(make_pod("b-c").namespace("a")))
    assert first.metadata.uid != second.metadata.uid


def test_two_stores_assign_the_same_uids() -> None:
    assert make_store().create(bare_pod()) == make_store().create(bare_pod())


def test_an_object_that_exists_cannot_be_created() -> None:
    store = make_store(make_pod("web"))
    with pytest.raises(AlreadyExists, match='pods "web" already exists') as refusal:
        store.create(bare_pod())
    assert (refusal.value.code, refusal.value.reason) == (409, "AlreadyExists")


def test_a_name_is_generated_from_a_prefix() -> None:
    store = make_store()
    nameless = with_meta(bare_pod(), name="", generate_name="job-")
    names = {store.create(nameless).metadata.name for _ in range(30)}
    assert len(names) == 30
    assert all(name.startswith("job-") and len(name) == len("job-") + 5 for name in names)


def test_an_object_needs_a_name() -> None:
    with pytest.raises(Invalid, match="name or generateName is required"):
        make_store().create(with_meta(bare_pod(), name=""))


def test_the_creation_time_comes_from_the_clock() -> None:
    store = make_store()
    clock_of(store).advance(61.5)
    assert store.create(bare_pod()).metadata.creation_timestamp == "2031-01-01T00:01:01Z"


def test_generations_are_counted_for_kinds_whose_spec_has_them() -> None:
    store = make_store()
    assert store.create(raw(make_replica_set("web"))).metadata.generation == 1
    assert store.create(raw(make_node("n1"))).metadata.generation == 0


def test_the_given_object_is_left_as_it_was() -> None:
    given = bare_pod()
    before = msgspec.structs.replace(given)
    make_store().create(given)
    assert given == before
