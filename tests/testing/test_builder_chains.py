# SPDX-License-Identifier: Apache-2.0
from steersman import api
from steersman.testing import make_namespace, make_node, make_pod, make_replica_set


def test_a_chain_leaves_the_builder_it_started_from_unchanged() -> None:
    web = make_pod("web").label("app", "web")
    web.label("tier", "front").node("n1").req(cpu="1")
    assert web.obj().metadata.labels == {"app": "web"}
    assert web.obj().spec == api.PodSpec()


def test_equal_chains_give_equal_objects() -> None:
    assert make_pod("web").req(cpu=1).obj() == make_pod("web").req(cpu=1).obj()


def test_uids_follow_from_kind_namespace_and_name() -> None:
    assert make_pod("web-0").obj().metadata.uid == "uid-pod-default-web-0"
    assert make_pod("web-0").namespace("shop").obj().metadata.uid == "uid-pod-shop-web-0"
    assert make_node("n1").obj().metadata.uid == "uid-node-n1"


def test_an_explicit_uid_wins() -> None:
    assert make_pod("web-0").uid("abc").namespace("shop").obj().metadata.uid == "abc"


def test_cluster_scoped_objects_have_no_namespace() -> None:
    assert make_node("n1").obj().metadata.namespace == ""
    assert make_namespace("shop").obj().metadata.namespace == ""


def test_an_owner_has_the_uid_that_its_own_builder_gives_it() -> None:
    owned = make_pod("web-0").owner("ReplicaSet", "web").namespace("shop").obj()
    owner = make_replica_set("web").namespace("shop").obj()
    assert owned.metadata.owner_references == (
        api.OwnerReference(
            api_version="apps/v1", kind="ReplicaSet", name="web", uid=owner.metadata.uid, controller=True
        ),
    )


def test_metadata_is_added_piece_by_piece() -> None:
    meta = (
        make_pod("p")
        .label("a", "1")
        .labels({"b": "2"})
        .annotation("x", "y")
        .created("2030-01-01T00:00:00Z")
        .obj()
        .metadata
    )
    assert meta.labels == {"a": "1", "b": "2"}
    assert meta.annotations == {"x": "y"}
    assert meta.creation_timestamp == "2030-01-01T00:00:00Z"
