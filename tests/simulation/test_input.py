# SPDX-License-Identifier: Apache-2.0
"""What a simulation takes: files, directories, objects; and what it says of things it cannot use."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from tests.simulation.clusters import a_node, a_pod, nodes, pods

from steersman import api
from steersman.api import codec
from steersman.base.errors import InputError
from steersman.simulation import Simulation
from steersman.testing import make_node, make_replica_set


def write(path: Path, *objects: api.Object) -> Path:
    path.write_text("\n---\n".join(codec.encode(obj).decode() for obj in objects), encoding="utf-8")
    return path


def test_files_may_come_in_any_order(tmp_path: Path) -> None:
    wanted = write(tmp_path / "pods.yaml", *pods(2))
    cluster = write(tmp_path / "cluster.yaml", *nodes("n1"))
    assert Simulation.load(wanted, str(cluster), validate="ignore").run().summary.scheduled == 2


def test_a_directory_and_standard_input_are_sources_too(tmp_path: Path) -> None:
    write(tmp_path / "cluster.json", *nodes("n1"))
    stdin = io.BytesIO(codec.encode(a_pod("piped").obj()))
    result = Simulation.load(tmp_path, "-", stdin=stdin, validate="ignore").run()
    assert result.placements["default/piped"].node == "n1"


def test_a_node_without_allocatable_offers_its_capacity() -> None:
    node = make_node("n1").obj()
    status = msgspec.structs.replace(node.status, allocatable={}, capacity={"cpu": "2", "memory": "4Gi", "pods": "5"})
    result = Simulation.load(msgspec.structs.replace(node, status=status), pods(3)).run()
    assert result.summary.scheduled == 2


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match='Node n1: nodes "n1" already exists'):
        Simulation.load(nodes("n1"), a_node("n1").obj())


def test_negative_amounts_are_refused() -> None:
    with pytest.raises(InputError, match=r"requests\.cpu: must be greater than or equal to 0"):
        Simulation.load(a_pod("odd", cpu="-1").obj())


def test_what_is_neither_path_nor_object_is_refused() -> None:
    with pytest.raises(InputError, match="neither a path nor an API object"):
        Simulation.load([3])  # type: ignore[list-item]


def test_objects_may_be_given_as_json_has_them(tmp_path: Path) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "plain"},
        "spec": {"containers": [{"name": "c", "image": "app"}]},
    }
    file = write(tmp_path / "cluster.yaml", *nodes("n1"))
    assert Simulation.load([file, [pod]]).run().placements["default/plain"].node == "n1"
    with pytest.raises(InputError, match="kind: is missing"):
        Simulation.load({"metadata": {"name": "what"}})


def test_pods_are_tried_in_the_order_in_which_they_were_given(tmp_path: Path) -> None:
    file = write(tmp_path / "second.yaml", a_pod("second").obj())
    result = Simulation.load(nodes("n1"), a_pod("first").obj(), file, a_pod("third").obj(), validate="ignore").run()
    assert [event.pod for event in result.events] == ["default/first", "default/second", "default/third"]


@pytest.mark.parametrize("controllers", [True, False])
def test_controllers_whose_pods_are_missing_are_named_in_one_note(controllers: bool) -> None:
    lonely = make_replica_set("lonely").obj()
    owner = make_replica_set("owner").uid("owner-uid").obj()
    owned = a_pod("owned").owner("ReplicaSet", "owner", uid="owner-uid").obj()
    result = Simulation.load(nodes("n1"), lonely, owner, owned, controllers=controllers).run()
    why = "without a pod template, which an API server would refuse"
    note = f"no pods were made for 1 ReplicaSet {why}"
    assert result.notes == (note if controllers else "controllers were not to run: no pods were made for 1 ReplicaSet",)


def test_kinds_that_mean_nothing_to_a_scheduler_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "all.yaml"
    file.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", encoding="utf-8")
    assert Simulation.load(file, nodes("n1")).run().notes == ("objects of other kinds were passed over: 1 ConfigMap",)


def test_the_clock_starts_where_a_dump_ends() -> None:
    old = a_pod("old").node("n1").phase("Running").created("2026-03-01T12:00:00Z").obj()
    simulation = Simulation.load(nodes("n1"), old)
    assert simulation.cluster.timestamp() == "2026-03-01T12:00:00Z"
    assert simulation.now == 0.0


def test_unknown_fields_are_in_the_notes_of_the_result(tmp_path: Path) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: app}], nodeSelectr: {a: b}}\n"
    )
    (note,) = Simulation.load(file, nodes("n1")).run().notes
    assert note.endswith('Pod default/p: spec.nodeSelectr: is not a field of this kind; did you mean "nodeSelector"?')
    assert Simulation.load(file, nodes("n1"), validate="ignore").run().notes == ()
    with pytest.raises(InputError, match="nodeSelectr"):
        Simulation.load(file, validate="strict")
    with pytest.raises(InputError, match="nodeSelectr"):
        Simulation.load().add(file, validate="strict")


def test_unknown_fields_of_dicts_are_found_as_well() -> None:
    document = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taint": []}}
    (note,) = Simulation.load(document).run().notes
    assert note == 'Node n: spec.taint: is not a field of this kind; did you mean "taints"?'
    with pytest.raises(InputError, match=r"spec\.taint"):
        Simulation.load(document, validate="strict")


def test_a_workload_of_more_pods_than_a_simulation_creates_is_refused() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "app"}]}}
    spec = {"replicas": 2**31 - 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    with pytest.raises(InputError, match=r"Deployment .*d: spec\.replicas: is more than a simulation creates"):
        Simulation.load(deployment)


def test_dicts_of_kinds_that_are_not_read_are_passed_over_as_in_files() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert "1 Secret" in " ".join(Simulation.load(nodes("n1"), secret).run().notes)
