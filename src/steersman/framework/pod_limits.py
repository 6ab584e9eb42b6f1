# SPDX-License-Identifier: Apache-2.0
"""How a filter that looks at pods anywhere would answer for a row if other pods were there.

Preemption takes pods from a row in thought, and puts some of them back. A cluster kernel (`columns.ClusterFilterKernel`) that
says its `PodLimits` need not be asked each time: a row passes exactly if its demand is met there and no limit is exceeded, as
long as nothing changes on other rows. What a pod means to them is its *weight*, a small number that is 0 for most pods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Final, Protocol

import msgspec

from steersman.framework.nodes_view import BoolColumn, IntColumn
from steersman.framework.pod_info import PodInfo

#: What a row can take that a limit does not apply to.
NO_LIMIT: Final = 1 << 40


class PodWeight(Hashable, Protocol):
    """The weight of pods. Equal ones give equal weights to a pod until the labels of a namespace change."""

    def of(self, pod: PodInfo) -> int:
        """The weight of the pod: not negative, and the same for all pods of a template."""


class PodLimit(msgspec.Struct, frozen=True):
    """A row takes pods up to some weight."""

    #: None: no pod counts, and rows pass or do not pass whoever is there.
    weight: PodWeight | None
    #: By row: what could be added to the pods that are there; negative: there is too much. May be changed.
    spare: IntColumn
    #: The rows on which pods count.
    counted: BoolColumn


class PodDemand(ABC):
    """A row must have something that pods provide. Pods that are added never make it worse."""

    weight: PodWeight

    @abstractmethod
    def unmet_without(self, gone: IntColumn) -> BoolColumn:
        """Rows on which the demand is not met if pods of that weight are taken away: by row, and from one row at a time. A
        negative weight is added. Rows without a node: anything."""


class PodLimits(msgspec.Struct, frozen=True):
    """The limits that one filter sets to a row, in the order in which it objects."""

    demand: PodDemand | None = None
    limits: tuple[PodLimit, ...] = ()
