# SPDX-License-Identifier: Apache-2.0
"""Forks of a simulation: what-if questions, and transactions.

    trial = simulation.fork()
    trial.add("deployment.yaml").run()
    trial.commit()  # or revert(), or close()

In addition to the methods of `Simulation`, a trial can schedule pods without passage of time, and
hide pods from the scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self

from steersman import api
from steersman.cluster.kubelets import DrainRound
from steersman.framework import PodInfo
from steersman.scheduler.cycle import Decision
from steersman.simulation import copies
from steersman.simulation.simulated_cluster import Origin, SimulatedCluster, StateVersion
from steersman.simulation.simulation import Simulation
from steersman.simulation.virtual_time.driver import OnDecision
from steersman.simulation.virtual_time.tasks import SimulationError
from steersman.simulation.virtual_time.writer import Preemption

NO_FORK: Final = "this simulation is not a fork, or the original is gone: there is nothing to {}"
ORIGIN_CHANGED: Final = "the simulation that this one is a fork of has changed since: its changes would be lost"


class Trial(Simulation):
    """A fork of a simulation, created by `Simulation.fork`."""

    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster

    # -- transactions ------------------------------------------------------------------------------------------------

    def commit(self) -> None:
        """Give the origin the state of this fork, which becomes a new fork of it.

        Raises `SimulationError` if the origin has changed since it was forked, or no longer exists.
        Read `cluster` of the origin again afterwards: it is another store.
        """
        origin, version = self._living_origin("commit to")
        if origin.version != version:
            raise SimulationError(ORIGIN_CHANGED)
        copy = copies.fork_of(self._cluster)
        origin.driver.close()
        origin.become(self._cluster)
        self._cluster.become(copy)
        self._cluster.origin = Origin.from_cluster(origin)

    def revert(self) -> None:
        """Return to the state of the origin. Raises `SimulationError` if it no longer exists."""
        origin, _ = self._living_origin("revert to")
        self._cluster.driver.close()
        self._cluster.become(copies.fork_of(origin))
        self._cluster.origin = Origin.from_cluster(origin)

    def reseed(self, seed: int) -> Self:
        """Change the state to that of `load` with this seed, so that one load serves several seeds.

        Raises `SimulationError` if a random number may have been drawn: after a run or another
        event, or if a policy or annotations describe the behaviour of input pods with a node. The
        fork no longer has an origin.
        """
        copies.reseed(self._cluster, seed)
        return self

    # -- questions ---------------------------------------------------------------------------------------------------

    @property
    def failed_pods(self) -> int:
        """Number of pods that had a failed attempt so far."""
        return len(self._cluster.driver.writer.failures)

    @property
    def preempted(self) -> tuple[Preemption, ...]:
        """The pods that were preempted so far."""
        return tuple(self._cluster.driver.writer.preemptions.values())

    def settle(self, *, places: bool = True) -> None:
        """Run the due timers of controllers and kubelets, then schedule the pods in activeQ if
        `places`. No time passes."""
        self._cluster.settle(places=places)

    def schedule_now(self, *, only_ready: bool = False, on_decision: OnDecision | None = None) -> None:
        """Try every pod without a node, ignoring backoffs; no time passes. With `only_ready` only
        those in activeQ."""
        self._cluster.schedule_now(only_ready=only_ready, on_decision=on_decision)

    def decide_on(self, pod: PodInfo) -> Decision:
        """Return the decision on a pod that is not in the queue, with extenders if they are called.
        The decision is not carried out, but a found node is assumed, and preemption starts."""
        return self._cluster.driver.decide_on(pod)

    def exclude(self, pods: Sequence[api.Pod]) -> None:
        """Remove pods without a node from the scheduler's view; they stay in the cluster."""
        self._cluster.exclude(pods)

    def drain_rounds(self, node: str) -> Sequence[DrainRound]:
        """Return the rounds of the node's latest drain so far; none if it was not drained."""
        drain = self._cluster.driver.drains.get(node)
        return () if drain is None else tuple(drain.rounds)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _living_origin(self, purpose: str) -> tuple[SimulatedCluster, StateVersion]:
        origin = self._cluster.origin
        cluster = None if origin is None else origin.cluster()
        if origin is None or cluster is None:
            raise SimulationError(NO_FORK.format(purpose))
        return cluster, origin.version


def unpickled(plugin_files: Sequence[str], content: bytes) -> Trial:
    """Return the simulation pickled by another process; a fork without an origin."""
    return Trial(copies.unpickled(plugin_files, content))
