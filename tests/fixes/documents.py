# SPDX-License-Identifier: Apache-2.0
"""What documents of generated clusters have in common."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"

Document = dict[str, Any]
Documents = list[Document]
Obstacle = Callable[[Document, Documents, Documents, Documents, random.Random], None]
"""Changes the spec of a pod, the nodes, the pods on them, or adds other documents, so that the pod is pending."""


def object_metadata(name: str, **labels: str) -> Document:
    return {"name": name, "namespace": "default", **({"labels": labels} if labels else {})}
