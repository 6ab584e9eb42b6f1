# SPDX-License-Identifier: Apache-2.0
"""Objects that cannot be read change nothing; after a programming error everything is as it was before."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from steersman import api
from steersman.base.errors import InputError
from steersman.scheduler.assembly import Scheduler
from steersman.scheduler.queue import SchedulingQueue
from steersman.scheduler.state.node_table import NodeTable
from steersman.testing import Harness, make_node, make_pod


class Torn(RuntimeError):
    """Stands for a programming error."""


@pytest.fixture
def scheduler() -> Scheduler:
    made = Harness().scheduler
    made.ingest.changed(_version(make_node("n1").capacity(cpu="8", pods="10").obj()))
    made.ingest.changed(_version(make_pod("bound").req(cpu="2").node("n1").obj()))
    made.ingest.changed(_version(make_pod("pending").req(cpu="3").obj()))
    return made


def _version(obj: api.Object, version: str = "1") -> api.Object:
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, resource_version=version))


def expect_unchanged(scheduler: Scheduler) -> None:
    scheduler.cache.validate_state()
    scheduler.queue.validate_state()
    row = scheduler.cache.nodes.row_of("n1")
    assert row is not None
    assert scheduler.cache.nodes.info(row).requested("cpu") == 2000
    assert scheduler.cache.nodes.info(row).allocatable("cpu") == 8000
    assert sorted(scheduler.pods) == ["default/bound", "default/pending"]
    queued = scheduler.queue.get("default/pending")
    assert queued is not None
    assert queued.pod is scheduler.pods["default/pending"]
    assert [pod.metadata.name for pod in scheduler.queue.pending_pods().pods] == ["pending"]


UNREADABLE: list[tuple[api.Object, str]] = [
    (make_node("n1").capacity(cpu="lots").obj(), "status.capacity.cpu"),
    (make_node("n2").capacity(cpu="lots").obj(), "status.capacity.cpu"),
    (make_pod("bound").req(cpu="1x").node("n1").obj(), "spec.containers[0].resources.requests.cpu"),
    (make_pod("other").req(cpu="1x").node("n1").obj(), "spec.containers[0].resources.requests.cpu"),
    (make_pod("bound").req(cpu="2").node("n1").started("noon").obj(), "status.startTime"),
    (make_pod("pending").req(cpu="1x").obj(), "spec.containers[0].resources.requests.cpu"),
    (make_pod("new").req(cpu="1x").obj(), "spec.containers[0].resources.requests.cpu"),
    (make_pod("new").uid(make_pod("bound").obj().metadata.uid).node("n1").obj(), "metadata.uid"),
    (make_pod("new").uid(make_pod("bound").obj().metadata.uid).obj(), "metadata.uid"),
    (make_pod("new").uid(make_pod("pending").obj().metadata.uid).obj(), "metadata.uid"),
    (make_pod("new").uid(make_pod("pending").obj().metadata.uid).node("n1").obj(), "metadata.uid"),
    (api.PersistentVolume(spec=api.PersistentVolumeSpec(capacity={"storage": "1x"})), "spec.capacity.storage"),
    (api.CSIStorageCapacity(capacity="1x"), "capacity"),
    (api.DeviceClass(metadata=api.ObjectMeta(name="c", creation_timestamp="noon")), "metadata.creationTimestamp"),
]


@pytest.mark.parametrize(("obj", "field"), UNREADABLE)
def test_an_object_that_cannot_be_read_is_refused_before_anything_changes(
    scheduler: Scheduler, obj: api.Object, field: str
) -> None:
    with pytest.raises(InputError) as caught:
        scheduler.ingest.changed(_version(obj, "2"))
    assert caught.value.field == field
    expect_unchanged(scheduler)
    assert not list(scheduler.objects.list(type(obj)))


@pytest.mark.parametrize(
    "obj",
    [
        make_node("n1").capacity(cpu="4", pods="10").label("zone", "b").obj(),
        make_node("n2").capacity(cpu="4", pods="10").obj(),
        make_pod("bound").req(cpu="5").node("n1").obj(),
        make_pod("other").req(cpu="5").node("n1").obj(),
        make_pod("pending").req(cpu="5").node("n1").obj(),
    ],
)
@pytest.mark.parametrize("place", ["_apply_pod", "_write_node", "_touch_node"])
def test_columns_that_break_off_are_as_they_were(
    scheduler: Scheduler, obj: api.Object, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = getattr(NodeTable, place)
    breaks = [True]

    def torn(self: NodeTable, *given: object) -> None:
        working(self, *given)
        if breaks:
            breaks.pop()
            raise Torn

    monkeypatch.setattr(NodeTable, place, torn)
    try:
        scheduler.ingest.changed(_version(obj, "2"))
    except Torn:
        expect_unchanged(scheduler)
    else:
        assert breaks, "the change does not come to that place"


@pytest.mark.parametrize(
    "obj",
    [
        make_node("n2").capacity(cpu="4", pods="10").obj(),
        make_pod("other").req(cpu="5").node("n1").obj(),
        make_pod("pending").req(cpu="5").obj(),
        make_pod("new").req(cpu="5").obj(),
        api.Namespace(metadata=api.ObjectMeta(name="default", labels={"a": "b"})),
    ],
)
def test_a_queue_that_breaks_off_leaves_the_earlier_version(
    scheduler: Scheduler, obj: api.Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks = [True]

    def breaking_off(working: Callable[..., None]) -> Callable[..., None]:
        def torn(*given: object) -> None:
            working(*given)
            if breaks:
                breaks.pop()
                raise Torn

        return torn

    with monkeypatch.context() as patch:
        for name in ("move_all", "update", "add"):
            patch.setattr(SchedulingQueue, name, breaking_off(getattr(SchedulingQueue, name)))
        with pytest.raises(Torn):
            scheduler.ingest.changed(_version(obj, "2"))
    expect_unchanged(scheduler)
    assert scheduler.cache.nodes.row_of("n2") is None
    assert not list(scheduler.objects.list(api.Namespace))


def test_a_deletion_that_breaks_off_is_a_deletion(scheduler: Scheduler, monkeypatch: pytest.MonkeyPatch) -> None:
    def torn(*given: object) -> None:
        raise Torn

    bound, node = scheduler.pods["default/bound"], scheduler.cache.nodes.node(0)
    with monkeypatch.context() as patch:
        patch.setattr(SchedulingQueue, "move_all", torn)
        for obj in (bound, node):
            with pytest.raises(Torn):
                scheduler.ingest.deleted(obj)
    scheduler.cache.validate_state()
    assert scheduler.cache.pod_count == 0
    assert scheduler.cache.nodes.node_count == 0
    assert list(scheduler.pods) == ["default/pending"]


def test_a_pod_that_loses_its_node_waits_for_another_one(scheduler: Scheduler) -> None:
    scheduler.ingest.changed(_version(make_pod("bound").req(cpu="2").obj(), "2"))
    scheduler.cache.validate_state()
    scheduler.queue.validate_state()
    assert scheduler.cache.pod_count == 0
    assert scheduler.queue.get("default/bound") is not None


def test_a_pod_that_an_unreadable_one_of_its_name_has_replaced_is_gone_once(scheduler: Scheduler) -> None:
    bound = scheduler.pods["default/bound"]
    with pytest.raises(InputError):
        scheduler.ingest.changed(_version(make_pod("bound").uid("another").req(cpu="1x").node("n1").obj(), "2"))
    scheduler.ingest.deleted(bound)
    scheduler.cache.validate_state()
    assert sorted(scheduler.pods) == ["default/pending"]


def test_the_uid_of_a_pod_that_is_gone_may_be_used_again(scheduler: Scheduler) -> None:
    bound = scheduler.pods["default/bound"]
    scheduler.ingest.deleted(bound)
    scheduler.ingest.changed(make_pod("new").uid(bound.metadata.uid).node("n1").obj())
    scheduler.cache.validate_state()
    assert sorted(scheduler.pods) == ["default/new", "default/pending"]
