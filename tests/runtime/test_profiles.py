# SPDX-License-Identifier: Apache-2.0
"""A profile: plugin instances wired into the order of their extension points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import pytest

from steersman.framework.events import ActionType, ClusterEvent, ClusterEventWithHint, EventResource
from steersman.framework.plugin import EnqueueExtensions, FilterPlugin, Plugin
from steersman.framework.status import Status
from steersman.scheduler.runtime.faults import PluginError
from steersman.scheduler.runtime.profile import PluginRef, Profile, ProfileSpec, build


class Named(Protocol):
    """Any call of a profile."""

    @property
    def name(self) -> str: ...


class Order(Plugin):
    name = "Order"

    def sort_key(self, queued: object) -> tuple[int, ...]:
        return ()


class Everything(Plugin):
    """Takes part everywhere."""

    name = "Everything"

    def pre_enqueue(self, pod: object) -> None: ...

    def pre_filter(self, state: object, pod: object, nodes: object) -> None: ...

    def add_pod(self, state: object, pod: object, added: object, node: object) -> None: ...

    def remove_pod(self, state: object, pod: object, removed: object, node: object) -> None: ...

    def filter(self, pod: object, node: object) -> str:
        return "no"

    def post_filter(self, state: object, pod: object, statuses: object) -> None: ...

    def pre_score(self, pod: object, nodes: object) -> None: ...

    def score(self, pod: object, node: object) -> int:
        return 1

    def normalize_scores(self, state: object, pod: object, scores: object) -> None: ...

    def reserve(self, state: object, pod: object, node_name: str) -> None: ...

    def unreserve(self, state: object, pod: object, node_name: str) -> None: ...

    def permit(self, pod: object, node_name: str) -> None: ...

    async def pre_bind(self, state: object, pod: object, node_name: str) -> None: ...

    async def bind(self, state: object, pod: object, node_name: str) -> None: ...

    def post_bind(self, state: object, pod: object, node_name: str) -> None: ...


POINTS = (
    "preEnqueue",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)


def made(
    points: Mapping[str, Sequence[PluginRef | str]], instances: Sequence[Plugin], percentage: int | None = None
) -> Profile:
    refs = {
        point: [PluginRef(ref) if isinstance(ref, str) else ref for ref in named] for point, named in points.items()
    }
    spec = ProfileSpec("test", {"queueSort": [PluginRef("Order")], **refs}, percentage_of_nodes_to_score=percentage)
    return build(spec, {plugin.name: plugin for plugin in (Order(), *instances)})


class TestWiring:
    def test_a_plugin_is_wired_at_every_point_that_names_it(self) -> None:
        profile = made({point: ["Everything"] for point in POINTS}, [Everything()])
        wired: dict[str, Sequence[Named]] = {
            "preEnqueue": profile.pre_enqueue,
            "preFilter": profile.pre_filter,
            "filter": profile.filter,
            "postFilter": profile.post_filter,
            "preScore": profile.pre_score,
            "score": profile.score,
            "reserve": [*profile.reserve],
            "permit": [*profile.permit],
            "preBind": [*profile.pre_bind],
            "bind": profile.bind,
            "postBind": profile.post_bind,
        }
        assert {point: [call.name for call in calls] for point, calls in wired.items()} == {
            point: ["Everything"] for point in POINTS
        }

    def test_points_without_plugins_are_empty(self) -> None:
        profile = made({}, [])
        assert not profile.filter
        assert not profile.score
        assert not profile.permit
        assert profile.name == "test"

    def test_the_order_is_that_of_the_configuration(self) -> None:
        first, second = Everything(), Everything()
        second.name = "Second"  # type: ignore[misc]
        profile = made({"filter": ["Second", "Everything"], "score": ["Everything", "Second"]}, [first, second])
        assert [call.name for call in profile.filter] == ["Second", "Everything"]
        assert [call.plugin for call in profile.score] == [first, second]

    def test_weights_are_one_unless_the_configuration_says_otherwise(self) -> None:
        profile = made({"score": [PluginRef("Everything", 7)]}, [Everything()])
        assert profile.score[0].weight == 7
        assert made({"score": ["Everything"]}, [Everything()]).score[0].weight == 1

    def test_the_percentage_of_nodes_is_handed_on(self) -> None:
        assert made({}, [], percentage=30).percentage_of_nodes_to_score == 30


class TestOptionalMethods:
    def test_pre_filter_extensions_are_there_if_the_plugin_has_them(self) -> None:
        call = made({"preFilter": ["Everything"]}, [Everything()]).pre_filter[0]
        assert call.add_pod is not None
        assert call.remove_pod is not None

    def test_a_plugin_without_them_is_not_asked(self) -> None:
        class Simple(Plugin):
            name = "Simple"

            def pre_filter(self, pod: object, nodes: object) -> None: ...

            def score(self, pod: object, node: object) -> int:
                return 3

        profile = made({"preFilter": ["Simple"], "score": ["Simple"]}, [Simple()])
        assert profile.pre_filter[0].add_pod is None
        assert profile.pre_filter[0].remove_pod is None
        assert profile.score[0].normalize is None

    def test_half_of_the_extensions_is_refused(self) -> None:
        class Half(Plugin):
            name = "Half"

            def pre_filter(self, pod: object, nodes: object) -> None: ...

            def add_pod(self, state: object, pod: object, added: object, node: object) -> None: ...

        with pytest.raises(PluginError, match=r'plugin "Half": method remove_pod\(\) is missing'):
            made({"preFilter": ["Half"]}, [Half()])


class TestRefusals:
    @pytest.mark.parametrize(
        ("point", "method"),
        [
            ("preEnqueue", "pre_enqueue"),
            ("preFilter", "pre_filter"),
            ("filter", "filter"),
            ("postFilter", "post_filter"),
            ("preScore", "pre_score"),
            ("score", "score"),
            ("reserve", "reserve"),
            ("permit", "permit"),
            ("preBind", "pre_bind"),
            ("bind", "bind"),
            ("postBind", "post_bind"),
        ],
    )
    def test_a_plugin_must_have_the_method_of_its_point(self, point: str, method: str) -> None:
        with pytest.raises(PluginError, match=rf'plugin "Order": method {method}\(\) is missing'):
            made({point: ["Order"]}, [])

    def test_there_must_be_one_queue_sort_plugin(self) -> None:
        with pytest.raises(PluginError, match='profile "test": expected one queueSort plugin, got 0'):
            build(ProfileSpec("test", {}), {})

    def test_a_queue_sort_plugin_must_sort(self) -> None:
        spec = ProfileSpec("test", {"queueSort": [PluginRef("Everything")]})
        with pytest.raises(PluginError, match=r"needs a method sort_key\(queued\) or less\(a, b\)"):
            build(spec, {"Everything": Everything()})


class TestEvents:
    def test_a_plugin_says_which_events_may_help(self) -> None:
        event = ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.DELETE))

        class Waiting(FilterPlugin, EnqueueExtensions):
            name = "Waiting"

            def filter(self, pod: object, node: object) -> Status | None:
                return None

            def events_to_register(self) -> tuple[ClusterEventWithHint, ...]:
                return (event,)

        assert made({"filter": ["Waiting"]}, [Waiting()]).hints == (("Waiting", event),)

    def test_a_rejecting_plugin_that_does_not_say_is_woken_by_everything(self) -> None:
        hints = made({"filter": ["Everything"]}, [Everything()]).hints
        assert {name for name, _ in hints} == {"Everything"}
        assert {registered.event.resource for _, registered in hints} > {EventResource.POD, EventResource.NODE}

    def test_a_plugin_that_rejects_nothing_waits_for_nothing(self) -> None:
        assert made({"score": ["Everything"]}, [Everything()]).hints == ()
