# SPDX-License-Identifier: Apache-2.0
"""Reference of the names that Steersman reads in the metadata of objects."""

from __future__ import annotations

from scripts.site.markdown import code, table
from steersman.controllers.load_curve import LOAD
from steersman.kubelets import RUN_SECONDS

ANNOTATIONS = (
    (
        RUN_SECONDS,
        "Pod",
        "simulations",
        'So many seconds after its start the pod succeeds and its room is free: `"30"`, `"0.5"`. Without it: for ever.',
    ),
    (
        LOAD,
        "HorizontalPodAutoscaler or its target",
        "simulations, the embedded cluster",
        'What all pods together have to do, from when on: `"0s=200m, 5m=900m, 10m=300m"`. '
        f"`{LOAD}-<metric>` is the load of one metric of several.",
    ),
)


def annotation_page() -> str:
    lines = [
        "# Annotations",
        "",
        "What Steersman reads beside kube-scheduler's own fields, labels and annotations.",
        "",
    ]
    rows = ((code(name), kind, where, text) for name, kind, where, text in ANNOTATIONS)
    return "\n".join([*lines, *table(("annotation", "of", "read by", "what it says"), rows)])
