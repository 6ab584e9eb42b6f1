# SPDX-License-Identifier: Apache-2.0
"""Kinds that plugins declare: each is watched once, and one that cannot be read is refused before anything runs."""

from __future__ import annotations

import pytest

from steersman import api
from steersman.framework import ScorePlugin
from steersman.framework.watching import WATCHED_KINDS, with_custom
from steersman.scheduler.runtime import PluginError
from steersman.scheduler.runtime.declared_kinds import declared_kinds, declared_reads

RATE = api.custom_kind("example.com/v1", "Rate", "rates")


class Rate(api.Object, frozen=True):
    API_VERSION, KIND, PLURAL = "example.com/v2", "Rate", "rates"

    spec: dict[str, int] = {}


def plugin(*kinds: object, reads: tuple[object, ...] = ()) -> type:
    return type("Looks", (ScorePlugin,), {"name": "Looks", "kinds": kinds, "reads": reads})


def refusal(*kinds: object) -> str:
    with pytest.raises(PluginError) as refused:
        declared_kinds({"Looks": plugin(*kinds)})
    return str(refused.value)


def test_a_kind_declared_by_several_plugins_is_watched_once_and_pods_come_last() -> None:
    same = api.custom_kind("example.com/v1", "Rate", "rates")
    declared = declared_kinds({"A": plugin(RATE), "B": plugin(same, api.Node)})
    assert declared == (RATE,)
    assert with_custom(declared) == (*WATCHED_KINDS[:-1], RATE, api.Pod)


def test_a_kind_that_ships_and_is_not_watched_may_be_declared() -> None:
    assert declared_kinds({"A": plugin(api.Deployment)}) == (api.Deployment,)


def test_two_classes_for_one_kind_are_refused() -> None:
    with pytest.raises(PluginError, match=r'plugins "A" and "B" declare Rate of example.com/v2 by different classes'):
        declared_kinds({"A": plugin(RATE), "B": plugin(Rate)})


def test_what_is_no_class_of_a_kind_is_refused() -> None:
    assert refusal("Rate").startswith("plugin \"Looks\": kinds: 'Rate' is not the class of a kind; derive from")


def test_a_class_that_does_not_say_its_version_is_refused() -> None:
    class Nameless(api.Object, frozen=True):
        KIND, PLURAL = "Nameless", "nameless"

    assert refusal(Nameless) == 'plugin "Looks": kinds: Nameless has no API_VERSION'
    assert 'expected "group/version"' in refusal(api.custom_kind("v1", "Rate", "rates"))


def test_a_class_that_cannot_be_decoded_is_refused() -> None:
    class Odd(api.Object, frozen=True):
        API_VERSION, KIND, PLURAL = "example.com/v1", "Odd", "odds"

        spec: "Missing" = None  # type: ignore[name-defined]  # noqa: F821, UP037

    assert refusal(Odd).startswith('plugin "Looks": kinds: objects of Odd cannot be read: NameError')


def test_what_is_read_is_not_watched_and_may_be_of_the_core_group() -> None:
    maps = api.custom_kind("v1", "ConfigMap", "configmaps")
    plugins = {"A": plugin(RATE, reads=(maps, api.Node)), "B": plugin(reads=(maps,))}
    assert declared_reads(plugins) == (maps, api.Node)
    assert declared_kinds(plugins) == (RATE,)


def test_a_kind_has_one_class_whether_it_is_watched_or_read() -> None:
    other = type("Other", (Rate,), {"API_VERSION": "example.com/v1"})
    with pytest.raises(PluginError, match=r'plugins "A" and "B" declare Rate of example.com/v1 by different classes'):
        declared_reads({"A": plugin(RATE), "B": plugin(reads=(other,))})


def test_a_second_class_for_a_kind_that_ships_is_refused() -> None:
    pods = api.custom_kind("v1", "Pod", "pods")
    with pytest.raises(PluginError, match=r"reads: Pod of v1 ships with Steersman; name steersman\.api\.Pod"):
        declared_reads({"A": plugin(reads=(pods,))})
