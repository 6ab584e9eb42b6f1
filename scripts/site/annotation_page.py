# SPDX-License-Identifier: Apache-2.0
"""Reference of the names that Steersman reads in the metadata of objects."""

from __future__ import annotations

from scripts.site.markdown import code, table
from steersman.kubelets import RUN_SECONDS

ANNOTATIONS = (
    (
        RUN_SECONDS,
        "Pod",
        "simulations",
        'So many seconds after its start the pod succeeds and its room is free: `"30"`, `"0.5"`. Without it: for ever.',
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
