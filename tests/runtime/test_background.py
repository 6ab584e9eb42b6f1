# SPDX-License-Identifier: Apache-2.0
"""What plugins know from outside: refreshed before the first pod, then from time to time; failures cost nobody else."""

from __future__ import annotations

import asyncio
import logging

import pytest

from steersman.base.errors import InputError
from steersman.framework import BackgroundPlugin, FilterPlugin, NodeInfo, PodInfo
from steersman.framework.events import ClusterEvent
from steersman.scheduler.runtime.background import Background
from steersman.scheduler.runtime.faults import PluginError
from steersman.scheduler.runtime.profile import Profile
from steersman.testing import Harness, make_node, make_pod


class Weather(FilterPlugin, BackgroundPlugin):
    """Nothing runs while it rains."""

    name = "Weather"
    deadline_seconds = 0.05
    forecast = ["rain", "sun"]

    def __init__(self) -> None:
        self.weather = ""
        self._forecast = iter(self.forecast)

    async def refresh(self) -> bool:
        self.weather = next(self._forecast)
        if self.weather == "fog":
            raise KeyError("nothing to be seen")
        if self.weather == "mist":
            raise InputError("is not to be seen", object="horizon")
        if self.weather == "calm":
            await asyncio.sleep(60)
        return self.weather == "sun"

    def filter(self, pod: PodInfo, node: NodeInfo) -> bool | str:
        return self.weather != "rain" or "it rains"


def harness(monkeypatch: pytest.MonkeyPatch, *forecast: str) -> Harness:
    monkeypatch.setattr(Weather, "forecast", forecast)
    made = Harness(plugins=[Weather], nodes=[make_node("n")])
    made.add(make_pod("web"))
    return made


def profiles(made: Harness) -> list[Profile]:
    return list(made.scheduler.profiles.values())


def test_plugins_are_refreshed_before_the_first_decision_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = harness(monkeypatch, "rain", "sun")
    made.run()
    assert "it rains" in made.message(make_pod("web"))
    made.advance(30)
    assert "it rains" in made.message(make_pod("web"))


def test_news_wake_the_pods_that_the_plugin_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    made = harness(monkeypatch, "rain", "rain", "sun")
    made.run()
    made.refresh()
    assert made.run() == []
    made.refresh()
    assert [decision.pod.key for decision in made.run()] == ["default/web"]


@pytest.mark.parametrize(
    ("weather", "told"), [("fog", "nothing to be seen"), ("calm", "refresh() did not end within 0.05 seconds")]
)
def test_a_refresh_that_fails_or_does_not_end_is_logged_with_its_place(
    weather: str, told: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = harness(monkeypatch, weather)
    assert [decision.pod.key for decision in made.run()] == ["default/web"]
    [record] = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert record.getMessage() == 'plugin "Weather" raised at refresh'
    assert told in caplog.text
    assert "test_background.py" in caplog.text


def test_an_error_for_users_is_one_line(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    harness(monkeypatch, "mist").run()
    assert 'plugin "Weather" cannot refresh: horizon: is not to be seen' in caplog.messages


def test_plugins_are_refreshed_again_and_again_at_their_own_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    made = harness(monkeypatch, "rain", "sun", "fog", "sun")
    events: list[ClusterEvent] = []
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) > 4:
            await asyncio.Event().wait()

    async def scenario() -> None:
        running = asyncio.ensure_future(Background(profiles(made), events.append).run(sleep))
        while len(pauses) <= 4:
            await asyncio.sleep(0)
        running.cancel()

    asyncio.run(scenario())
    assert [event.label for event in events] == ["WeatherRefreshed", "WeatherRefreshed"]
    assert pauses == [60.0] * 5


def test_a_plugin_without_the_method_is_refused() -> None:
    class Idle(FilterPlugin, BackgroundPlugin):
        name = "Idle"

        def filter(self, pod: PodInfo, node: NodeInfo) -> bool:
            return True

    with pytest.raises(PluginError, match=r'plugin "Idle": method refresh\(\) is missing'):
        Harness(plugins=[Idle])
