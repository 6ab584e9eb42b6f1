# SPDX-License-Identifier: Apache-2.0
"""The nominator knows for which pods room is being made on a node."""

from __future__ import annotations

from tests.queue.queues import QueueUnderTest

from steersman import api
from steersman.testing import make_pod


def nominated(test: QueueUnderTest, node: str) -> list[str]:
    return [pod.metadata.name for pod in test.queue.nominated_pods_for_node(node)]


def test_a_new_pod_brings_its_nomination_along() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").nominated("n1").obj())

    assert nominated(test, "n1") == ["pod"]


def test_nominations_of_a_node_are_listed_in_the_order_in_which_they_were_made() -> None:
    test = QueueUnderTest()
    test.add(*(make_pod(name).obj() for name in ("a", "b", "c")))
    for name in ("b", "c", "a"):
        test.queue.add_nominated_pod(test.store[f"default/{name}"], "n1")

    assert nominated(test, "n1") == ["b", "c", "a"]


def test_a_second_nomination_replaces_the_first() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").obj())
    test.queue.add_nominated_pod(test.store["default/pod"], "n1")
    test.queue.add_nominated_pod(test.store["default/pod"], "n2")

    assert (nominated(test, "n1"), nominated(test, "n2")) == ([], ["pod"])


def test_an_empty_node_name_is_a_nomination_too() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").obj())
    test.queue.add_nominated_pod(test.store["default/pod"], "")

    assert nominated(test, "") == ["pod"]


def test_without_a_node_the_status_of_the_pod_counts() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").nominated("n1").obj())
    test.queue.add_nominated_pod(test.store["default/pod"], "n2")
    test.queue.add_nominated_pod(test.store["default/pod"])

    assert nominated(test, "n1") == ["pod"]


def test_a_nomination_in_memory_survives_updates_that_do_not_speak_of_one() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").obj())
    test.queue.add_nominated_pod(test.store["default/pod"], "n1")
    test.update(make_pod("pod").label("app", "web").obj())

    assert nominated(test, "n1") == ["pod"]


def test_an_update_that_removes_the_nomination_removes_it_here() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").nominated("n1").obj())
    test.update(make_pod("pod").obj())

    assert nominated(test, "n1") == []


def test_a_pod_that_is_gone_or_has_a_node_is_not_nominated() -> None:
    test = QueueUnderTest()
    assigned = make_pod("assigned").node("n2").obj()
    test.store[api.key(assigned)] = assigned
    test.queue.add_nominated_pod(make_pod("assigned").obj(), "n1")
    test.queue.add_nominated_pod(make_pod("gone").obj(), "n1")

    assert nominated(test, "n1") == []


def test_deleting_a_pod_deletes_its_nomination() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").nominated("n1").obj())
    test.queue.delete(test.store["default/pod"])

    assert nominated(test, "n1") == []
    assert list(test.queue.nominator.nodes()) == []


def test_a_nominated_pod_in_flight_is_known_by_reference_only() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").uid("u1").nominated("n1").req(cpu="1").obj())
    test.pop()

    (pod,) = test.queue.nominated_pods_for_node("n1")
    assert (pod.metadata.uid, pod.spec.containers) == ("u1", ())


def test_a_nomination_can_be_taken_back() -> None:
    test = QueueUnderTest()
    test.add(make_pod("pod").nominated("n1").obj())
    test.queue.delete_nominated_pod_if_exists(test.store["default/pod"])

    test.queue.validate_state()
    assert test.queue.nominated_pods_for_node("n1") == []
