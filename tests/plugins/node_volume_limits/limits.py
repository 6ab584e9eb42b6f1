# SPDX-License-Identifier: Apache-2.0
"""One node with a limit, pods with volumes, and what the plugin says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.plugins.handles import FakeHandle

from steersman import api
from steersman.framework.cycle_state import CycleState
from steersman.framework.status import Status, unschedulable
from steersman.scheduler.plugins.node_volume_limits import ERR_REASON_MAX_VOLUME_COUNT_EXCEEDED, NodeVolumeLimits
from steersman.testing import Builder, CSINodeBuilder, PodBuilder, make_claim, make_csi_node, make_node, make_volume

DRIVER = "ebs.csi.aws.com"
NODE = "n"
EXCEEDED = unschedulable(ERR_REASON_MAX_VOLUME_COUNT_EXCEEDED)
LIMITED_TO_2 = make_csi_node(NODE).driver(DRIVER, limit=2)


def bound(*names: str, driver: str = DRIVER) -> list[api.Object]:
    """Claims of these names, each bound to a volume of its own."""
    claims: list[api.Object] = [make_claim(name).bound(f"v-{name}").obj() for name in names]
    return [*claims, *(make_volume(f"v-{name}").csi(driver, f"handle-{name}").obj() for name in names)]


def verdict(
    pod: PodBuilder,
    *others: PodBuilder,
    objects: Sequence[api.Object | Builder[api.VolumeAttachment]] = (),
    csi_node: CSINodeBuilder | None = LIMITED_TO_2,
    gates: Mapping[str, bool] | None = None,
) -> Status | None:
    """On a node with the other pods."""
    known = [obj.obj() if isinstance(obj, Builder) else obj for obj in objects]
    if csi_node is not None:
        known.append(csi_node.obj())
    plugin = NodeVolumeLimits(None, FakeHandle(objects=known, gates=gates))
    status = plugin.pre_filter(CycleState(), pod.info(), ())
    return status if status is not None else plugin.filter(CycleState(), pod.info(), make_node(NODE).info(*others))
