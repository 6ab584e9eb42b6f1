# SPDX-License-Identifier: Apache-2.0
"""Reference of the names that Steersman reads in the metadata of objects."""

from __future__ import annotations

from scripts.site.markdown import code, table
from steersman.cluster.controllers.load_curve import LOAD
from steersman.cluster.kubelets import NODE_ANNOTATIONS, POD_ANNOTATIONS
from steersman.simulation.node_pools import POOL_LABEL

WHERE = "simulated kubelets"
TEXTS = {
    "start-seconds": "How long the pod takes to start, from being bound on.",
    "image-pull-seconds": "How long an image is pulled that the node does not have.",
    "init-seconds": "How long each init container runs.",
    "run-seconds": 'So many seconds after its start the pod succeeds and its room is free: `"30"`, `"uniform(10, 60)"`. '
    "Without it: without end.",
    "exit-codes": 'With what containers exit, run by run: `"1,1,0"`.',
    "ready-after-seconds": "How long after its start a container is ready; `never` is possible.",
    "stop-seconds": "How long containers take to end when the pod is deleted. Without it: the whole grace period.",
    "crash-at": "When the node's kubelet falls silent, after the annotation was written: `60s`.",
    "recover-at": "When it is back.",
    "reboot-at": "When the node reboots; its containers are restarted.",
    "devices": "What device plugins offer: `example.com/gpu=4`.",
    "unhealthy-devices": "How many of the devices are broken: `example.com/gpu=1`.",
    "csi-drivers": "Drivers on the node, and how many volumes each attaches: `ebs.csi.aws.com=25`.",
    "price-per-hour": 'What the node costs in an hour, in any currency: `"0.40"`. May also be a label.',
}
OF_KUBELETS = tuple(
    (name, kind, WHERE, TEXTS[name.rpartition("/")[2]])
    for kind, names in (("Pod", POD_ANNOTATIONS), ("Node", NODE_ANNOTATIONS))
    for name in names
)
ANNOTATIONS = (
    *OF_KUBELETS,
    (
        LOAD,
        "HorizontalPodAutoscaler or its target",
        "simulations, the embedded cluster",
        'What all pods together have to do, from when on: `"0s=200m, 5m=900m, 10m=300m"`. '
        f"`{LOAD}-<metric>` is the load of one metric of several.",
    ),
    (
        POOL_LABEL,
        "Node",
        "plans, series, reports",
        "The pool of the node, a label. Without it, the labels that providers set name the pool.",
    ),
)


def annotation_page() -> str:
    lines = [
        "# Annotations",
        "",
        "What Steersman reads beside kube-scheduler's own fields, labels and annotations; see",
        "[simulated kubelets](../kubelets.md).",
        "",
    ]
    rows = ((code(name), kind, where, text) for name, kind, where, text in ANNOTATIONS)
    return "\n".join([*lines, *table(("annotation", "of", "read by", "what it says"), rows)])
