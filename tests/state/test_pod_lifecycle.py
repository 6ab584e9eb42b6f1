# SPDX-License-Identifier: Apache-2.0
"""The life of a pod in the cache: every state meets every event."""

from __future__ import annotations

import itertools

import pytest

from steersman.scheduler.state.pod_lifecycle import INITIAL, TRANSITIONS, CachedPodState, CacheError, Life, PodEvent

A, B, D, N = CachedPodState.ASSUMED, CachedPodState.BINDING_FINISHED, CachedPodState.ADDED, CachedPodState.ABSENT

#: Row by row what upstream's cache does; None: it complains.
EXPECTED: dict[PodEvent, dict[CachedPodState, CachedPodState | None]] = {
    PodEvent.ASSUME: {N: A, A: None, B: None, D: None},
    PodEvent.FINISH_BINDING: {N: None, A: B, B: B, D: None},
    PodEvent.FORGET: {N: None, A: N, B: N, D: None},
    PodEvent.ADD: {N: D, A: D, B: D, D: None},
    PodEvent.UPDATE: {N: None, A: None, B: None, D: D},
    PodEvent.REMOVE: {N: None, A: N, B: N, D: N},
}
PAIRS = list(itertools.product(CachedPodState, PodEvent))


@pytest.mark.parametrize(("state", "event"), PAIRS)
def test_every_event_has_its_effect_or_is_refused(state: CachedPodState, event: PodEvent) -> None:
    expected = EXPECTED[event][state]
    if expected is None:
        with pytest.raises(CacheError, match=f'"{event.value}" cannot happen to a pod that is {state.value}'):
            Life(state).after(event, "default/web")
    else:
        assert Life(state).after(event, "default/web").state is expected


def test_the_table_has_no_other_entries() -> None:
    legal = {pair for pair in PAIRS if EXPECTED[pair[1]][pair[0]] is not None}
    assert TRANSITIONS.keys() == legal


def test_every_state_can_be_left_permanently() -> None:
    leaving = {state for (state, _), following in TRANSITIONS.items() if following is CachedPodState.ABSENT}
    assert leaving == set(CachedPodState) - {CachedPodState.ABSENT}


def lived(*events: PodEvent) -> Life:
    life = INITIAL
    for event in events:
        life = life.after(event, "default/web")
    return life


def test_a_refusal_has_the_history() -> None:
    with pytest.raises(CacheError) as refusal:
        lived(PodEvent.ASSUME, PodEvent.ADD, PodEvent.ASSUME)
    assert str(refusal.value) == ('pod default/web: "assume" cannot happen to a pod that is added, after: assume → add')


def test_pods_that_went_the_same_way_share_their_life() -> None:
    assert lived(PodEvent.ADD, PodEvent.UPDATE) is lived(PodEvent.ADD, PodEvent.UPDATE)


def test_a_pod_that_is_gone_begins_again() -> None:
    assert lived(PodEvent.ASSUME, PodEvent.FORGET) is INITIAL


def test_a_long_story_loses_its_beginning() -> None:
    life = lived(PodEvent.ADD, *[PodEvent.UPDATE] * 50)
    assert life.history.startswith("… → update")
    assert "add" not in life.history
    assert life.history.count("update") == 11


def test_a_life_of_updates_comes_to_a_standstill() -> None:
    life = lived(PodEvent.ADD, *[PodEvent.UPDATE] * 50)
    assert life.after(PodEvent.UPDATE, "default/web") is life
