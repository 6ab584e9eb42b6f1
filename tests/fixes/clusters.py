# SPDX-License-Identifier: Apache-2.0
"""Small clusters for tests of fixes, and how fixes are looked for in them."""

from __future__ import annotations

from typing import Any, Final

from steersman import api
from steersman.explain.fixes import Fix, FixKind, find_fixes
from steersman.simulation import Simulation
from steersman.testing import NodeBuilder, PodBuilder, make_node, make_pod

HOSTNAME: Final = "kubernetes.io/hostname"


def a_node(name: str, cpu: str = "4") -> NodeBuilder:
    return make_node(name).capacity(cpu=cpu, memory="8Gi", pods=10).label(HOSTNAME, name)


def a_pod(name: str, cpu: str = "1") -> PodBuilder:
    return make_pod(name).req(cpu=cpu)


def found(*objects: NodeBuilder | PodBuilder | api.Object | dict[str, Any], pod: str = "web") -> list[Fix]:
    """The fixes of the pod in a cluster of these objects."""
    given = [each if isinstance(each, api.Object | dict) else each.obj() for each in objects]
    return list(find_fixes(Simulation.load(*given), pod))


def of_kind(fixes: list[Fix], kind: FixKind) -> Fix:
    """The one fix of this kind."""
    (fix,) = [fix for fix in fixes if fix.kind is kind]
    return fix
