# SPDX-License-Identifier: Apache-2.0
"""Slices and devices are used on the nodes that they name, and allocations say where they can be used."""

from __future__ import annotations

from tests.plugins.dynamic_resources.allocation.supply import allocations, devices

from steersman import api
from steersman.scheduler.plugins.dynamic_resources.allocation import Features
from steersman.testing import make_node, make_resource_claim, make_slice

ONE = make_resource_claim("c").asks("r", "any")
HERE, ELSEWHERE = make_node("n").label("zone", "a"), make_node("m").label("zone", "b")


def place(allocation: api.AllocationResult) -> list[tuple[str, tuple[str, ...]]]:
    selector = allocation.node_selector
    if selector is None:
        return []
    (term,) = selector.node_selector_terms
    return [(one.key, one.values) for one in (*term.match_fields, *term.match_expressions)]


def test_a_local_slice_ties_the_claim_to_the_node() -> None:
    local = make_slice("s").on_node("n").device("d")
    assert devices([ONE], [local], HERE) == ["s/d"]
    assert devices([ONE], [local], ELSEWHERE) is None
    assert place(*allocations([ONE], [local], HERE)) == [("metadata.name", ("n",))]


def test_a_slice_for_all_nodes_ties_it_to_none() -> None:
    shared = make_slice("s").everywhere().device("d")
    assert devices([ONE], [shared], ELSEWHERE) == ["s/d"]
    assert place(*allocations([ONE], [shared], HERE)) == []


def test_a_selector_is_handed_on() -> None:
    zonal = make_slice("s").where("zone", "a").device("d")
    assert devices([ONE], [zonal], HERE) == ["s/d"]
    assert devices([ONE], [zonal], ELSEWHERE) is None
    assert place(*allocations([ONE], [zonal], HERE)) == [("zone", ("a",))]


def test_equal_requirements_are_written_once() -> None:
    slices = [make_slice("s").where("zone", "a").device("d"), make_slice("t").where("zone", "a").device("e")]
    both = make_resource_claim("c").asks("r", "any", count=2)
    assert place(*allocations([both], slices, HERE)) == [("zone", ("a",))]


def test_a_device_may_say_itself_where_it_is() -> None:
    there, here = api.Device(name="there", node_name="m"), api.Device(name="here", node_name="n")
    mixed = make_slice("s").per_device().devices(there, here, api.Device(name="nowhere"))
    assert devices([ONE], [mixed], HERE) == ["s/here"]
    assert devices([make_resource_claim("c").asks("r", "any", count=2)], [mixed], HERE) is None
    assert place(*allocations([ONE], [mixed], HERE)) == [("metadata.name", ("n",))]
    assert devices([ONE], [mixed], HERE, features=Features(partitionable_devices=False)) is None


def test_a_device_that_binds_to_its_node_ties_the_claim_to_it() -> None:
    attached = make_slice("s").everywhere().devices(api.Device(name="d", binds_to_node=True))
    assert place(*allocations([ONE], [attached], HERE)) == [("metadata.name", ("n",))]


def test_a_slice_that_says_nothing_is_used_nowhere() -> None:
    assert devices([ONE], [make_slice("s").device("d")], HERE) is None
