# SPDX-License-Identifier: Apache-2.0
import pytest

from steersman import api
from steersman.framework.events import QueueingHint
from steersman.scheduler.plugins.inter_pod_affinity.hints import after_pod_change
from steersman.testing import PodBuilder, exists, is_in, make_pod

SKIP, QUEUE = QueueingHint.SKIP, QueueingHint.QUEUE
SCAN = is_in("service", "securityscan", "value2")
WAITING_NEAR = make_pod("p").pod_affinity("region", SCAN)
WAITING_APART = make_pod("p").anti_affinity("region", SCAN)
OTHER = make_pod("other").node("fake-node")
SCANNER = OTHER.label("service", "securityscan")


def hint(waiting: PodBuilder, *, old: PodBuilder | None = None, new: PodBuilder | None = None) -> QueueingHint:
    return after_pod_change(waiting.obj(), old and old.obj(), new and new.obj())


def test_a_new_pod_helps_if_it_matches_the_affinity() -> None:
    assert hint(WAITING_NEAR, new=SCANNER) is QUEUE
    assert hint(WAITING_NEAR, new=OTHER.label("aaa", "a")) is SKIP


def test_a_new_pod_does_not_help_against_anti_affinity() -> None:
    assert hint(WAITING_APART, new=SCANNER) is SKIP


def test_a_pod_without_a_node_does_not_help() -> None:
    assert hint(WAITING_NEAR, new=SCANNER.node("")) is SKIP
    assert hint(WAITING_NEAR, old=OTHER.node(""), new=SCANNER.node("")) is SKIP
    assert hint(WAITING_APART, old=SCANNER.node("")) is SKIP


def test_a_nominated_pod_counts_as_one_with_a_node() -> None:
    assert hint(WAITING_APART, old=SCANNER.node("").nominated("fake-node")) is QUEUE
    assert hint(WAITING_APART, old=OTHER.node("").nominated("fake-node")) is SKIP


def test_a_pod_that_begins_to_match_the_affinity_helps() -> None:
    assert hint(WAITING_NEAR, old=OTHER.label("service", "x"), new=SCANNER) is QUEUE


def test_a_pod_that_matched_the_affinity_before_does_not_help() -> None:
    assert hint(WAITING_NEAR, old=OTHER.label("service", "value2"), new=SCANNER) is SKIP
    assert hint(WAITING_NEAR, old=SCANNER, new=OTHER.label("aaa", "a")) is SKIP


def test_all_affinity_terms_must_match_the_changed_pod() -> None:
    waiting = make_pod("p").pod_affinity("hostname", exists("aaa")).pod_affinity("hostname", exists("bbb"))
    one, both = OTHER.label("aaa", "a"), OTHER.label("aaa", "").label("bbb", "")
    assert hint(waiting, old=one, new=OTHER.label("service", "securityscan")) is SKIP
    assert hint(waiting, old=one, new=both) is QUEUE


def test_a_pod_that_ceases_to_match_the_anti_affinity_helps() -> None:
    assert hint(WAITING_APART, old=SCANNER, new=OTHER.label("service", "aaaa")) is QUEUE
    assert hint(WAITING_APART, old=OTHER.label("service", "bbb"), new=SCANNER) is SKIP


def test_new_labels_of_the_waiting_pod_itself_help() -> None:
    waiting = make_pod("p").label("foo", "baz")
    assert hint(waiting, old=make_pod("p").label("foo", "bar"), new=waiting) is QUEUE


def test_a_deleted_pod_helps_if_it_matches_the_anti_affinity() -> None:
    assert hint(WAITING_APART, old=SCANNER) is QUEUE
    assert hint(WAITING_APART, old=OTHER.label("aaa", "a")) is SKIP
    assert hint(WAITING_NEAR, old=SCANNER) is SKIP


def test_a_deleted_pod_helps_if_its_anti_affinity_kept_the_waiting_one_away() -> None:
    gone = OTHER.anti_affinity("region", SCAN)
    assert hint(make_pod("p").label("service", "securityscan"), old=gone) is QUEUE
    assert hint(make_pod("p").label("service", "foo"), old=gone) is SKIP
    assert hint(WAITING_APART.label("service", "foo"), old=gone.label("service", "foo")) is SKIP


def test_namespace_selectors_are_not_looked_up() -> None:
    selected = make_pod("p").pod_affinity("region", SCAN, namespace_selector={"team": "a"})
    everywhere = make_pod("p").pod_affinity("region", SCAN, namespace_selector={})
    assert hint(selected, new=SCANNER.namespace("x")) is SKIP
    assert hint(everywhere, new=SCANNER.namespace("x")) is QUEUE


def test_an_object_of_another_kind_is_a_fault() -> None:
    with pytest.raises(TypeError):
        after_pod_change(WAITING_NEAR.obj(), None, api.Node())
