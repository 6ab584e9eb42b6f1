# SPDX-License-Identifier: Apache-2.0
"""Explanations of the page have the details that the explanations of commands have."""

from __future__ import annotations

from steersman.scheduler.diagnosis import evaluated, explain_now
from steersman.scheduler.diagnosis.pod_evaluation import explain_rejections
from steersman.testing import Harness, make_claim, make_node, make_pod, make_volume

ZONE = "topology.kubernetes.io/zone"


def test_the_page_names_the_zone_of_a_volume_as_explain_does() -> None:
    claim = make_claim("data").storage_class("fast").bound("pv-1")
    volume = make_volume("pv-1").storage_class("fast").label(ZONE, "b").claimed(claim)
    node = make_node("a").capacity(cpu="4", memory="8Gi", pods=10).label(ZONE, "a")
    harness = Harness(nodes=[node], objects=[claim, volume])
    pod = make_pod("wanted").req(cpu="1").pvc("data").obj()
    with evaluated(harness.scheduler, pod) as found:
        shown = explain_rejections(found, found.objections())
    wanted = explain_now(harness.scheduler, pod)
    assert wanted is not None
    assert shown.node_explanation("a").verdicts == wanted.node_explanation("a").verdicts
    assert shown.node_explanation("a").verdicts[0].detail == f"claim data: volume pv-1 is in {ZONE}=b, has {ZONE}=a"
