# SPDX-License-Identifier: Apache-2.0
"""Limits that predict how a filter would judge a row if pods were added or removed.

Preemption removes pods from a row hypothetically and adds some of them back. A cluster kernel
(`columns.ClusterFilterKernel`) that returns `PodLimits` need not be called each time: as long as
other rows do not change, a row passes exactly if its demand is met and no limit is exceeded. Each
pod adds a *weight* to them, a small number that is 0 for most pods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Final, Protocol

import msgspec
import numpy as np

from steersman.framework.nodes_view import BoolColumn, IntColumn, ReasonColumn
from steersman.framework.pod_info import PodInfo

#: Spare weight of a row without a limit.
NO_LIMIT: Final = 1 << 40


class PodWeight(Hashable, Protocol):
    """Function from pods to weights. Equal instances give equal weights until the labels of a
    namespace change."""

    def weigh(self, pod: PodInfo) -> int:
        """Return the weight of the pod: not negative, and equal for all pods of a template."""


class PodLimit(msgspec.Struct, frozen=True):
    """Maximum total weight of the pods on a row."""

    #: Weight of pods, or None if the result does not depend on pods.
    weight: PodWeight | None
    #: Weight that could be added to each row; negative if the limit is exceeded. May be modified.
    spare: IntColumn
    #: Mask of the rows on which pods count.
    counted: BoolColumn


class PodDemand(ABC):
    """A requirement of a row that pods contribute to. Adding pods never violates it."""

    weight: PodWeight

    @abstractmethod
    def unmet_without(self, gone: IntColumn) -> BoolColumn:
        """Return the rows on which the demand is not met if pods of these weights are removed from
        that row alone. A negative weight is added. Values for rows without a node are ignored."""


class PodLimits(msgspec.Struct, frozen=True):
    """Limits that one filter sets to a row, in the order in which it checks them."""

    demand: PodDemand | None = None
    limits: tuple[PodLimit, ...] = ()


def limits_by_node(reasons: ReasonColumn) -> PodLimits:
    """Return the limits of a filter whose reasons for rejecting a row do not depend on the pods
    there."""
    nothing_counts = np.zeros(len(reasons), np.bool_)
    spare_by_reason = [np.where(reasons == reason, -1, NO_LIMIT) for reason in np.unique(reasons[reasons != 0])]
    return PodLimits(limits=tuple(PodLimit(None, spare, nothing_counts) for spare in spare_by_reason))
