# SPDX-License-Identifier: Apache-2.0
"""Fixes of generated pending pods hold: applied to the documents and simulated from scratch, and they cannot be smaller.

`make fixes-check` does this for 300 pods, with every reason to be pending in turn; here are a few of them.
"""

from __future__ import annotations

import pytest
from tests.fixes.judgement import outcome_at_rest
from tests.fixes.pending_pods import pending_pod

SEEDS = range(0, 300, 29)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_pending_pod_has_fixes_that_hold_and_cannot_be_smaller(seed: int) -> None:
    judgement = outcome_at_rest(pending_pod(seed))
    assert judgement.fixes, judgement.case.obstacles
    assert judgement.complaints == []
