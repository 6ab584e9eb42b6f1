# SPDX-License-Identifier: Apache-2.0
"""Volumes that are attached to a node count whether or not a pod uses them."""

from __future__ import annotations

from tests.plugins.node_volume_limits.limits import DRIVER, EXCEEDED, NODE, bound, verdict

from steersman import api
from steersman.testing import make_pod, make_volume

NEW = make_pod("new").pvc("new")
ONE = make_pod("one").pvc("one")
OBJECTS = bound("new", "one", "two")


def attached(volume: str | None, *, node: str = NODE, driver: str = DRIVER) -> api.VolumeAttachment:
    return api.VolumeAttachment(
        metadata=api.ObjectMeta(name=f"attached-{volume}"),
        spec=api.VolumeAttachmentSpec(
            attacher=driver, node_name=node, source=api.VolumeAttachmentSource(persistent_volume_name=volume)
        ),
    )


def test_an_attached_volume_takes_a_place() -> None:
    assert verdict(NEW, ONE, objects=[*OBJECTS, attached("v-two")]) == EXCEEDED


def test_one_that_a_pod_on_the_node_uses_is_not_counted_twice() -> None:
    assert verdict(NEW, ONE, objects=[*OBJECTS, attached("v-one")]) is None


def test_the_new_pods_own_volume_counts_twice_while_it_is_merely_attached() -> None:
    assert verdict(NEW, objects=[*OBJECTS, attached("v-new")]) is None
    assert verdict(NEW, ONE, objects=[*OBJECTS, attached("v-new")]) == EXCEEDED


def test_attachments_to_other_nodes_or_of_other_drivers_do_not_count() -> None:
    assert verdict(NEW, ONE, objects=[*OBJECTS, attached("v-two", node="other")]) is None
    assert verdict(NEW, ONE, objects=[*OBJECTS, attached("v-two", driver="other.example.com")]) is None


def test_attachments_without_driver_or_volume_do_not_count() -> None:
    assert verdict(NEW, ONE, objects=[*OBJECTS, attached("v-two", driver="")]) is None
    assert verdict(NEW, ONE, objects=[*OBJECTS, attached(None)]) is None
    assert verdict(NEW, ONE, objects=[*OBJECTS, attached("gone")]) is None


def test_attached_in_tree_volumes_do_not_count() -> None:
    assert verdict(NEW, ONE, objects=[*OBJECTS, make_volume("old").aws("vol-1").obj(), attached("old")]) is None
