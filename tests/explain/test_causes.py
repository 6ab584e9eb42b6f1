# SPDX-License-Identifier: Apache-2.0
"""Every plugin that rejects pods has a cause of its own: a code, and a sentence with what exactly is in the way."""

from __future__ import annotations

import pytest
from tests.explain.rejections import REJECTIONS, Rejection

from steersman import Simulation
from steersman.explain import PodExplanation, PodState, explain_pod
from steersman.scheduler.diagnosis import CauseCode


def answered(rejection: Rejection) -> PodExplanation:
    with Simulation.load(rejection.objects, plugins=rejection.plugins) as simulation:
        simulation.run()
        return explain_pod(simulation, "wanted")


@pytest.mark.parametrize("name", REJECTIONS)
def test_the_cause_is_reported_with_what_is_in_the_way(name: str) -> None:
    rejection = REJECTIONS[name]
    answer = answered(rejection)
    assert answer.cause.code is rejection.code
    for words in rejection.says:
        assert words in answer.cause.sentence
    assert answer.state is PodState.PENDING
    if answer.cause.groups:
        assert answer.cause.groups[0].plugin == rejection.plugin


@pytest.mark.parametrize("name", REJECTIONS)
def test_the_text_begins_with_the_cause_and_fits_a_terminal(name: str) -> None:
    text = answered(REJECTIONS[name]).text(5, 80)
    first = REJECTIONS[name].says[0]
    assert first.split()[0] in text.split("\n", 1)[1][:400]
    long_lines = [line for line in text.splitlines() if len(line) > 80 and "kubectl" not in line]
    assert [line for line in long_lines if len(line.split()) > 2] == []


def test_every_code_of_a_pending_pod_is_tried_here() -> None:
    tried = {rejection.code for rejection in REJECTIONS.values()}
    elsewhere = {
        CauseCode.FITS,
        CauseCode.ERROR,
        CauseCode.EXTENDER,
        CauseCode.NODE_NAME,
        CauseCode.WAITING,
        CauseCode.TERMINATING,
        CauseCode.NOT_ADMITTED,
        CauseCode.SUSPENDED,
        CauseCode.POD_GROUP,
    }
    assert tried | elsewhere == set(CauseCode)
