# SPDX-License-Identifier: Apache-2.0
"""Simulation: the very same scheduler on the embedded cluster, in virtual time.

`Simulation` is the way in; `Driver` runs the scheduler, `EmbeddedWriter` carries its decisions out, `VirtualLoop` lets
binding cycles wait without waiting.
"""

from steersman.sim.difference import Difference, NumberChange, diff
from steersman.sim.driver import Driver
from steersman.sim.events import Event
from steersman.sim.loop import VirtualLoop
from steersman.sim.next_decision import NextDecision
from steersman.sim.node_pools import NodePool, NodePools, load_pools
from steersman.sim.placements import Placement
from steersman.sim.recorder import Progress
from steersman.sim.result import Result, Summary
from steersman.sim.series import Series
from steersman.sim.setup import SimulationSetup
from steersman.sim.simulation import Simulation
from steersman.sim.tasks import SimulationError
from steersman.sim.utilisation import Usage, Utilisation
from steersman.sim.writer import EmbeddedWriter, Preemption

__all__ = [
    "Difference",
    "Driver",
    "EmbeddedWriter",
    "Event",
    "NextDecision",
    "NodePool",
    "NodePools",
    "NumberChange",
    "Placement",
    "Preemption",
    "Progress",
    "Result",
    "Series",
    "Simulation",
    "SimulationError",
    "SimulationSetup",
    "Summary",
    "Usage",
    "Utilisation",
    "VirtualLoop",
    "diff",
    "load_pools",
]
