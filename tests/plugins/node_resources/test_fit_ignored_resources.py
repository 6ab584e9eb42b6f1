# SPDX-License-Identifier: Apache-2.0
"""Extended resources that an extender manages can be left out of the check."""

from __future__ import annotations

import pytest
from tests.plugins.node_resources.fitting import FPGA, GPU, HUGE_PAGES, NATIVE, verdict

from steersman.config import NodeResourcesFitArgs
from steersman.framework.status import unresolvable
from steersman.scheduler.plugins.node_resources.insufficient import insufficient_reason
from steersman.testing import make_node, make_pod


def test_a_resource_is_ignored_by_its_name() -> None:
    args = NodeResourcesFitArgs(ignored_resources=(GPU,))

    found = verdict(make_pod().req(**{GPU: 1, FPGA: 1}), make_node().info(), args)

    assert found == unresolvable(insufficient_reason(FPGA))


def test_resources_are_ignored_by_their_group() -> None:
    args = NodeResourcesFitArgs(ignored_resource_groups=("example.com",))

    found = verdict(make_pod().req(**{GPU: 1, FPGA: 1, "example.org/gpu": 1}), make_node().info(), args)

    assert found == unresolvable(insufficient_reason("example.org/gpu"))


@pytest.mark.parametrize("resource", ["cpu", HUGE_PAGES, NATIVE])
def test_only_extended_resources_can_be_ignored(resource: str) -> None:
    args = NodeResourcesFitArgs(ignored_resources=(resource,), ignored_resource_groups=("kubernetes.io",))

    found = verdict(make_pod().req(**{resource: 1}), make_node().info(), args)

    assert found == unresolvable(insufficient_reason(resource))
