# SPDX-License-Identifier: Apache-2.0
"""What a comparison of controllers leaves out, and what it must not."""

from __future__ import annotations

from typing import Any

from tests.controllers.comparison.masking import differences, masked

UIDS = ("0a1b2c3d-0000-4000-8000-000000000001", "0a1b2c3d-0000-4000-8000-000000000002")


def replica_set(template_hash: str, revision: int, uid: str = UIDS[0]) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"web-{template_hash}",
            "uid": uid,
            "resourceVersion": "17",
            "creationTimestamp": "2031-01-01T00:00:00Z",
            "labels": {"pod-template-hash": template_hash},
            "annotations": {"deployment.kubernetes.io/revision": str(revision)},
        },
        "spec": {"replicas": 2},
    }


def pod(owner: str, end: str, owner_uid: str = UIDS[0], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{owner}-{end}",
            "generateName": f"{owner}-",
            "uid": f"0a1b2c3d-0000-4000-9000-0000000{end.encode().hex()[:5]}",
            "ownerReferences": [{"kind": "ReplicaSet", "name": owner, "uid": owner_uid}],
        },
        "spec": spec,
        "status": {"startTime": "2031-01-01T00:00:00Z"},
    }


def event(message: str) -> dict[str, Any]:
    return {"type": "Normal", "reason": "SuccessfulCreate", "message": message, "kind": "ReplicaSet", "name": "web"}


def test_two_runs_that_differ_in_chance_alone_are_equal() -> None:
    one = masked(
        {"ReplicaSet": [replica_set("6d4b9c8f5", 1)], "Pod": [pod("web-6d4b9c8f5", "x2k4z")]},
        [event("Created pod: web-6d4b9c8f5-x2k4z")],
    )
    other_set = replica_set("7f9c66bdd9", 1, UIDS[1])
    other_set["metadata"] |= {"resourceVersion": "4711", "creationTimestamp": "2032-02-02T00:00:00Z"}
    other = masked(
        {"ReplicaSet": [other_set], "Pod": [pod("web-7f9c66bdd9", "bcdfg", UIDS[1])]},
        [event("Created pod: web-7f9c66bdd9-bcdfg")],
    )
    assert differences(one, other) == []
    assert one["Event"][0]["message"] == "Created pod: web-<revision 1>-*"


def test_revisions_are_distinguished_by_their_number() -> None:
    sets = [replica_set("6d4b9c8f5", 1), replica_set("7f9c66bdd9", 2, UIDS[1])]
    old = masked({"ReplicaSet": sets, "Pod": [pod("web-6d4b9c8f5", "x2k4z")]}, [])
    new = masked({"ReplicaSet": sets, "Pod": [pod("web-7f9c66bdd9", "x2k4z", UIDS[1])]}, [])

    assert differences(old["Pod"], new["Pod"]) != []


def test_a_reference_to_the_wrong_object_shows() -> None:
    sets = [replica_set("6d4b9c8f5", 1), replica_set("7f9c66bdd9", 2, UIDS[1])]
    right = masked({"ReplicaSet": sets, "Pod": [pod("web-6d4b9c8f5", "x2k4z")]}, [])
    wrong = masked({"ReplicaSet": sets, "Pod": [pod("web-6d4b9c8f5", "x2k4z", UIDS[1])]}, [])
    dangling = masked({"ReplicaSet": sets, "Pod": [pod("web-6d4b9c8f5", "x2k4z", UIDS[0][:-1] + "9")]}, [])

    assert differences(right, wrong) == [
        'Pod[web-<revision 1>-*].metadata.ownerReferences[web-<revision 1>].uid: expected "<uid of ReplicaSet '
        'web-<revision 1>>", found "<uid of ReplicaSet web-<revision 2>>"'
    ]
    assert len(differences(right, dangling)) == 1


def test_equal_pods_are_counted() -> None:
    two = masked({"Pod": [pod("web", "x2k4z"), pod("web", "bcdfg")]}, [])
    one = masked({"Pod": [pod("web", "x2k4z")]}, [])

    assert [found["number"] for found in two["Pod"]] == [2]
    assert differences(two, one) == ["Pod[web-*].number: expected 2, found 1"]


def test_names_that_people_gave_stay() -> None:
    shown = masked(
        {"Pod": [pod("payments-api", "x2k4z", nodeName="rack-12-blue")]}, [event("moved to db-0 in eu-west-1")]
    )

    assert shown["Pod"][0]["metadata"]["name"] == "payments-api-*"
    assert shown["Pod"][0]["spec"]["nodeName"] == "rack-12-blue"
    assert shown["Event"][0]["message"] == "moved to db-0 in eu-west-1"


def test_hashes_of_revisions_that_are_gone_are_masked_in_events() -> None:
    shown = masked({}, [event('Deleted replica set "web-6d4b9c8f5"'), event("Created job tick-29384756")])

    assert [found["message"] for found in shown["Event"]] == [
        "Created job tick-<minutes>",
        'Deleted replica set "web-<hash>"',
    ]


def test_nodes_are_hidden_where_any_would_do() -> None:
    one = masked({"Pod": [pod("web", "x2k4z", nodeName="n1")]}, [], ["n1", "n2"])
    other = masked({"Pod": [pod("web", "x2k4z", nodeName="n2")]}, [], ["n1", "n2"])

    assert differences(one, other) == []


def test_events_are_a_set() -> None:
    assert masked({}, [event("once"), event("once")]) == masked({}, [event("once")])
    assert masked({}, [event("once"), event("(combined from similar events): once")]) == masked({}, [event("once")])
    assert masked({}, [event("once"), event("twice")]) != masked({}, [event("once")])


def test_every_difference_has_a_line_with_its_path() -> None:
    expected = {"Pod": [{"name": "a", "spec": {"x": 1, "gone": 2}, "list": ["p", "q"]}], "Job": [{"name": "j"}]}
    found = {"Pod": [{"name": "a", "spec": {"x": True}, "list": ["q", "p"]}], "Job": []}

    assert differences(expected, found) == [
        'Job[j]: expected {"name": "j"}, found nothing',
        "Pod[a].list: the same items in another order",
        "Pod[a].spec.gone: expected 2, found nothing",
        "Pod[a].spec.x: expected 1, found true",
    ]


def test_a_status_field_that_is_zero_is_as_good_as_absent_but_a_spec_field_is_not() -> None:
    zero = replica_set("6d4b9c8f5", 1) | {"spec": {"replicas": 0}, "status": {"replicas": 0, "conditions": []}}
    absent = replica_set("6d4b9c8f5", 1) | {"spec": {}, "status": {}}

    lines = differences(masked({"ReplicaSet": [zero]}, []), masked({"ReplicaSet": [absent]}, []))
    assert lines == ['ReplicaSet[web-<revision 1>].spec: expected {"replicas": 0}, found nothing']


def test_a_hash_that_belongs_to_no_revision_is_masked_where_it_is_a_label() -> None:
    lonely = pod("web-6d4b9c8f5", "x2k4z")
    lonely["metadata"]["labels"] = {"pod-template-hash": "6d4b9c8f5", "release": "6d4b9c8f5"}

    assert masked({"Pod": [lonely]}, [])["Pod"][0]["metadata"]["labels"] == {
        "pod-template-hash": "<hash>",
        "release": "6d4b9c8f5",
    }


def test_the_uids_of_the_embedded_cluster_are_masked_like_others() -> None:
    owner = replica_set("6d4b9c8f5", 1, "uid-replicaset-default-web-6d4b9c8f5-12")
    real = masked({"ReplicaSet": [replica_set("6d4b9c8f5", 1)], "Pod": [pod("web-6d4b9c8f5", "x2k4z")]}, [])
    ours = masked({"ReplicaSet": [owner], "Pod": [pod("web-6d4b9c8f5", "x2k4z", owner["metadata"]["uid"])]}, [])

    assert differences(real, ours) == []
