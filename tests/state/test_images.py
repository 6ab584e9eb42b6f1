# SPDX-License-Identifier: Apache-2.0
"""Which nodes have which images."""

from __future__ import annotations

from tests.state.tables import Tables, usual_node

from steersman.testing import make_pod


def sizes(tables: Tables, name: str) -> dict[str, int]:
    return {tables.table.names[row]: size for row, size in tables.table.rows_with_image(name).items()}


def test_an_image_is_found_under_each_of_its_names() -> None:
    tables = Tables()
    tables.add_node(usual_node("n1").image("web:v1", "registry/web@sha", size=50))
    assert sizes(tables, "web:v1") == sizes(tables, "registry/web@sha") == {"n1": 50}
    assert sizes(tables, "db:v1") == {}
    tables.check()


def test_a_node_knows_on_how_many_nodes_its_images_are() -> None:
    tables = Tables()
    row = tables.add_node(usual_node("n1").image("web:v1", size=50))
    assert tables.table.info(row).image_states["web:v1"].num_nodes == 1
    tables.add_node(usual_node("n2").image("web:v1", size=50))
    assert tables.table.info(row).image_states["web:v1"].num_nodes == 2
    tables.table.remove_node("n2")
    assert tables.table.info(row).image_states["web:v1"].num_nodes == 1
    tables.check()


def test_images_follow_the_node() -> None:
    tables = Tables()
    row = tables.add_node(usual_node("n1").image("web:v1", size=50))
    tables.add_node(usual_node("n1").image("db:v1", size=70))
    assert sizes(tables, "web:v1") == {}
    assert sizes(tables, "db:v1") == {"n1": 70}
    assert tables.table.info(row).image_states.keys() == {"db:v1"}
    tables.check()


def test_the_size_is_what_the_first_node_said() -> None:
    tables = Tables()
    tables.add_node(usual_node("n1").image("web:v1", size=50))
    row = tables.add_node(usual_node("n2").image("web:v1", size=999))
    assert sizes(tables, "web:v1") == {"n1": 50, "n2": 50}
    assert tables.table.info(row).image_states["web:v1"].size == 50
    tables.table.remove_node("n1")
    assert sizes(tables, "web:v1") == {"n2": 50}
    tables.check()


def test_an_image_that_no_node_has_any_more_is_forgotten_with_its_size() -> None:
    tables = Tables()
    tables.add_node(usual_node("n1").image("web:v1", size=50))
    tables.table.remove_node("n1")
    tables.add_node(usual_node("n2").image("web:v1", size=60))
    assert sizes(tables, "web:v1") == {"n2": 60}


def test_the_epoch_changes_with_images_and_with_the_number_of_nodes() -> None:
    tables = Tables()
    epochs = [tables.table.image_epoch]
    tables.add_node("n1")
    epochs.append(tables.table.image_epoch)
    tables.add_node(usual_node("n1").image("web:v1", size=1))
    epochs.append(tables.table.image_epoch)
    tables.table.remove_node("n1")
    epochs.append(tables.table.image_epoch)
    assert len(set(epochs)) == 4


def test_the_epoch_does_not_change_with_pods_and_labels() -> None:
    tables = Tables()
    tables.add_node(usual_node("n1").image("web:v1", size=1))
    epoch = tables.table.image_epoch
    tables.add(make_pod("p"), "n1")
    tables.add_node(usual_node("n1").image("web:v1", size=1).label("disk", "ssd"))
    assert tables.table.image_epoch == epoch
