# SPDX-License-Identifier: Apache-2.0
"""Every pod tolerates nodes that are not ready or unreachable for a while."""

from __future__ import annotations

import pytest
from tests.embedded.stores import admitting_store, raw

from steersman import api
from steersman.testing import PodBuilder, make_pod

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"


def _default(key: str) -> api.Toleration:
    return api.Toleration(key=key, operator="Exists", effect="NoExecute", toleration_seconds=300)


def _tolerations(builder: PodBuilder) -> tuple[api.Toleration, ...]:
    return admitting_store().create(raw(builder)).spec.tolerations


def test_the_default_is_five_minutes() -> None:
    assert _tolerations(make_pod()) == (_default(NOT_READY), _default(UNREACHABLE))


def test_defaults_come_after_the_pods_own() -> None:
    tolerations = _tolerations(make_pod().toleration("gpu", effect="NoSchedule"))
    assert [t.key for t in tolerations] == ["gpu", NOT_READY, UNREACHABLE]


def test_what_the_pod_says_itself_counts() -> None:
    own = make_pod().toleration(NOT_READY, effect="NoExecute", seconds=10)
    assert [(t.key, t.toleration_seconds) for t in _tolerations(own)] == [(NOT_READY, 10), (UNREACHABLE, 300)]


@pytest.mark.parametrize("effect", ["", "NoExecute"])
def test_a_pod_that_tolerates_everything_needs_no_defaults(effect: str) -> None:
    assert len(_tolerations(make_pod().toleration(effect=effect))) == 1


def test_tolerating_another_effect_does_not_count() -> None:
    assert len(_tolerations(make_pod().toleration(NOT_READY, effect="NoSchedule"))) == 3
