# SPDX-License-Identifier: Apache-2.0
"""The price of a node per hour, and the pool that it belongs to: read from its labels and annotations.

Series, differences and plans group nodes by pool and add their prices up. A node says both itself; a node that says nothing
costs nothing, and belongs to the pool of its instance type, or to the pool without a name.
"""

from __future__ import annotations

import math
from typing import Final

from steersman import api
from steersman.base import InputError
from steersman.cluster.kubelets import PRICE_PER_HOUR

POOL_LABEL: Final = "steersman.dev/pool"
PRICE_ANNOTATION: Final = PRICE_PER_HOUR
"""May also be a label: labels are all that some providers let their users write."""

POOL_LABELS: Final = (
    POOL_LABEL,
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "karpenter.sh/nodepool",
    "node.kubernetes.io/instance-type",
)
"""The labels that name a node's pool; the first one that the node has counts."""


def pool_of(node: api.Node) -> str:
    """The name of the node's pool; "" if no label names one."""
    labels = node.metadata.labels
    return next((labels[label] for label in POOL_LABELS if labels.get(label)), "")


def price_of(node: api.Node) -> float:
    """The price of the node per hour, by its annotation or else its label; 0 if it has neither. Raises `InputError`."""
    meta = node.metadata
    for where, texts in (("annotations", meta.annotations), ("labels", meta.labels)):
        text = texts.get(PRICE_ANNOTATION)
        if text is not None:
            return _price(text, node.metadata.name, f"metadata.{where}[{PRICE_ANNOTATION}]")
    return 0.0


def _price(text: str, node: str, field: str) -> float:
    try:
        price = float(text)
    except ValueError:
        price = -1.0
    if not math.isfinite(price) or price < 0:
        raise InputError(
            "is no price", object=f"Node {node}", field=field, value=text, hint='write a number such as "0.40"'
        )
    return price
