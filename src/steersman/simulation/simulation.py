# SPDX-License-Identifier: Apache-2.0
"""The public API: a cluster in memory, kube-scheduler's decisions, virtual time.

    sim = Simulation.load("cluster.json", config="sched.yaml", seed=1)
    result = sim.add("job.yaml").run()
    result.placements["default/web-0"].node
    print(result.explain("default/web-1").table())

`steersman simulate` uses only this class. Calls that change the simulation are journaled, and
repeated to explain a past decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from steersman import api
from steersman.api import Validation
from steersman.base import InputError
from steersman.cluster.kubelets import PolicySource
from steersman.cluster.store import Store
from steersman.config import FeatureGates
from steersman.scheduler.assembly import PluginSource, Scheduler
from steersman.scheduler.cycle import Decision
from steersman.simulation import copies
from steersman.simulation.cluster_edits import ClusterEdits
from steersman.simulation.inputs.object_names import pod_key
from steersman.simulation.inputs.sources import Source
from steersman.simulation.next_decision import NextDecision
from steersman.simulation.result_builder import build_result
from steersman.simulation.results.explanation_recorder import Progress
from steersman.simulation.results.result import Result
from steersman.simulation.results.utilisation import NodeArrays, node_arrays
from steersman.simulation.setup import Configuration, SimulationSetup, check_until, loaded, with_version
from steersman.simulation.simulated_cluster import SimulatedCluster
from steersman.simulation.virtual_time.driver import OnDecision
from steersman.simulation.virtual_time.tasks import SimulationError

if TYPE_CHECKING:
    from steersman.simulation.trial import Trial


class Simulation(ClusterEdits):
    """A cluster and a scheduler. Nothing happens until `run` or `step`, which may be called
    repeatedly.

    `fork` and `copy.deepcopy` return another simulation in the same state. A pickle contains the
    journal, which is repeated when it is loaded.
    """

    def __init__(self, setup: SimulationSetup) -> None:
        """Create an empty cluster; most callers want `load`."""
        self._cluster = SimulatedCluster(setup)

    @classmethod
    def load(
        cls,
        *source: Source,
        config: Configuration = None,
        seed: int = 0,
        plugins: Iterable[PluginSource] = (),
        gates: FeatureGates | Mapping[str, bool] | None = None,
        emulated_version: str = "",
        stdin: BinaryIO | None = None,
        validate: Validation = "warn",
        controllers: bool = True,
        kubelets: PolicySource = None,
        extenders: bool = False,
    ) -> Self:
        """Return a simulation of manifests and dumps (files, directories, `-` for `stdin`) and API
        objects.

        `plugins` are Python files or classes; they run in every profile unless `config` says
        something else about them. `seed` decides among equally good nodes. `controllers` make the
        pods of Deployments and their like; pods that such an object owns already count as its
        replicas. `kubelets` says what becomes of pods once they are bound: a file with a
        KubeletPolicy, the document as a dict, or a `KubeletPolicy`; without a seed of its own it
        has this one. `extenders`: those of `config` are called, in real time. Fields that the kind
        of an object does not have are errors ("strict"), in the notes of the result ("warn") or
        ignored ("ignore"), by `validate`. Raises `InputError`, `ConfigError` and `PluginError`.
        """
        setup, gathered = loaded(
            source,
            config=config,
            seed=seed,
            plugins=plugins,
            gates=with_version(gates, emulated_version),
            stdin=stdin,
            validate=validate,
            controllers=controllers,
            kubelets=kubelets,
            extenders=extenders,
        )
        simulation = cls(setup)
        simulation.internals.add(gathered)
        return simulation

    # -- state -------------------------------------------------------------------------------------------------------

    @property
    def cluster(self) -> Store:
        """The embedded cluster. Direct changes are scheduled as well, but not journaled: decisions
        cannot be explained afterwards."""
        return self._cluster.store

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler, read-only: changes made to it are not in the journal."""
        return self._cluster.scheduler

    @property
    def now(self) -> float:
        """Virtual time: seconds since the start."""
        return self._cluster.driver.now

    @property
    def decisions(self) -> int:
        """Number of decisions so far."""
        return self._cluster.driver.decisions

    @property
    def internals(self) -> SimulatedCluster:
        """Setup, journal and driver, for other packages of Steersman; not part of the public
        API."""
        return self._cluster

    # -- running -----------------------------------------------------------------------------------------------------

    def run(
        self,
        until: float | None = None,
        explain: Iterable[str] = (),
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        """Schedule until nothing changes any more, or until `until` seconds after the start of the
        simulation.

        Decisions on the pods in `explain` are recorded. A simulation that does not come to rest is
        stopped; the `stopped` of the result so far has the reason.
        """
        check_until(until)
        cluster = self._cluster
        cluster.explanations.watch(map(pod_key, explain))
        try:
            cluster.run(until, cluster.explanations.decision_observer(cluster.intake.asked, on_progress))
        except SimulationError as error:
            return build_result(cluster, stopped=str(error))
        return build_result(cluster)

    def advance(
        self, until: float | None = None, *, stops_at_rest: bool = False, on_decision: OnDecision | None = None
    ) -> None:
        """Run without creating a result. With `stops_at_rest` end before `until` if nothing changes
        any more without new input. Raises `SimulationError` if it does not come to rest."""
        check_until(until)
        self._cluster.advance(until, stops_at_rest=stops_at_rest, on_decision=on_decision)

    def step(self, until: float | None = None) -> Decision | None:
        """Advance to the next decision, at most to `until` seconds after the start, and make it.
        Return None if no pod can be decided on by then or, without `until`, if nothing changes any
        more."""
        check_until(until)
        return self._cluster.step(until)

    def next_decision(self, until: float | None = None, *, stops_at_rest: bool = False) -> NextDecision | None:
        """Return the pod that `step` would decide on next, with its feasible nodes, scores and
        verdicts; nothing is decided.

        Virtual time advances to that decision, at most to `until` seconds after the start. Returns
        None if no pod can be decided on by then, or at rest with `stops_at_rest`; without `until`,
        if nothing changes any more. Plugins are called once more than usual.
        """
        check_until(until)
        return self._cluster.next_decision(until, stops_at_rest=stops_at_rest)

    def decide(self, node: str | None = None, *, wait: bool = False) -> Decision:
        """Place the pod of `next_decision` on a feasible node; without a node the scheduler
        chooses.

        With `wait` the pod stays pending until an event that may help it, or its next periodic
        retry. For a pod without a feasible node, `decide()` and `step()` try preemption. Raises
        `InputError` for a node that is not feasible, for a node with `wait`, and if no pod waits;
        nothing is decided then.
        """
        if wait and node is not None:
            raise InputError("a pod cannot both wait and be placed", object="decide", value=node)
        return self._cluster.decide(node, wait=wait)

    def result(self, stopped: str = "") -> Result:
        """Return the result so far, as `run` returns it; `stopped` is the reason for an early end,
        if any."""
        return build_result(self._cluster, stopped)

    def node_arrays(self) -> NodeArrays:
        """Return allocatable and requested amounts of all nodes as arrays; much cheaper than
        `result`."""
        return node_arrays(self._cluster.scheduler.cache.nodes)

    # -- forks -------------------------------------------------------------------------------------------------------

    def fork(self) -> Trial:
        """Return another simulation in the same state, within milliseconds; neither affects the
        other.

        Both make equal decisions after equal calls. A fork can be committed or reverted: see
        `Trial`. While pods wait for permission, and for plugins whose state cannot be copied, all
        calls are repeated instead, which takes as long as they took. Raises `SimulationError` if
        the repetition leads to another state.
        """
        from steersman.simulation.trial import Trial

        return Trial(copies.fork_of(self._cluster))

    def close(self) -> None:
        """Cancel binding cycles that still wait for permission."""
        self._cluster.driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> Trial:
        return self.fork()

    def __deepcopy__(self, _: dict[int, object]) -> Trial:
        return self.fork()

    def __reduce__(self) -> tuple[Any, ...]:
        from steersman.simulation.trial import unpickled

        return unpickled, copies.pickled(self._cluster)

    def __repr__(self) -> str:
        nodes, pods = len(self.cluster.objects(api.Node)), len(self.cluster.objects(api.Pod))
        return f"Simulation(nodes={nodes}, pods={pods}, decisions={self.decisions}, now={self.now:g})"

    def _repr_html_(self) -> str:
        from steersman.simulation.results.notebook import simulation_html

        return simulation_html(self.result())
