# SPDX-License-Identifier: Apache-2.0
"""Which registrations cover which events, and how events are named."""

from __future__ import annotations

import pytest

from steersman.framework.events import (
    ACTION_NAMES,
    FORCE_ACTIVATE,
    NODE_ADD,
    UNSCHEDULABLE_TIMEOUT,
    ActionType,
    ClusterEvent,
    EventResource,
)

ANY_UPDATE_OF_PODS = ClusterEvent(EventResource.POD, ActionType.UPDATE)
NEW_OR_RELABELLED_NODES = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
EVERYTHING = ClusterEvent(EventResource.WILDCARD, ActionType.ALL)


def test_update_is_the_union_of_all_updates_and_all_of_everything() -> None:
    single = [bit for bit in ActionType if bit in ACTION_NAMES and bit.value.bit_count() == 1]

    assert sum(single) == ActionType.ALL
    assert ActionType.UPDATE == ActionType.ALL - ActionType.ADD - ActionType.DELETE


@pytest.mark.parametrize("action", [ActionType.ADD, ActionType.UPDATE_NODE_LABEL])
def test_a_registration_covers_each_of_its_actions(action: ActionType) -> None:
    assert NEW_OR_RELABELLED_NODES.matches(ClusterEvent(EventResource.NODE, action))


def test_a_registration_does_not_cover_other_actions_or_resources() -> None:
    assert not NEW_OR_RELABELLED_NODES.matches(ClusterEvent(EventResource.NODE, ActionType.DELETE))
    assert not NEW_OR_RELABELLED_NODES.matches(ClusterEvent(EventResource.CSI_NODE, ActionType.ADD))


@pytest.mark.parametrize("resource", [EventResource.ASSIGNED_POD, EventResource.UNSCHEDULABLE_POD, EventResource.POD])
def test_a_registration_for_pods_covers_pods_with_and_without_a_node(resource: str) -> None:
    assert ANY_UPDATE_OF_PODS.matches(ClusterEvent(resource, ActionType.UPDATE_POD_LABEL))


def test_a_registration_for_a_specific_update_does_not_cover_an_unspecific_one() -> None:
    label = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)

    assert not label.matches(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE))
    assert ANY_UPDATE_OF_PODS.matches(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE))


def test_a_registration_for_everything_covers_every_event() -> None:
    assert EVERYTHING.matches(NODE_ADD)
    assert EVERYTHING.matches(FORCE_ACTIVATE)


def test_a_wildcard_event_is_covered_by_registrations_for_everything_only() -> None:
    assert not ClusterEvent(EventResource.NODE, ActionType.ALL).matches(UNSCHEDULABLE_TIMEOUT)


def test_only_all_actions_on_all_resources_are_a_wildcard() -> None:
    assert EVERYTHING.is_wildcard
    assert FORCE_ACTIVATE.is_wildcard
    assert not ClusterEvent(EventResource.WILDCARD, ActionType.ADD).is_wildcard
    assert not ClusterEvent(EventResource.NODE, ActionType.ALL).is_wildcard


@pytest.mark.parametrize(
    ("event", "label"),
    [
        (NODE_ADD, "NodeAdd"),
        (ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE), "storage.k8s.io/CSINodeUpdate"),
        (EVERYTHING, "*All"),
        (FORCE_ACTIVATE, "ForceActivate"),
        (NEW_OR_RELABELLED_NODES, "Node"),
    ],
)
def test_the_label_is_resource_and_action_unless_the_event_has_its_own(event: ClusterEvent, label: str) -> None:
    assert event.label == label
