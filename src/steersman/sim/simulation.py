# SPDX-License-Identifier: Apache-2.0
"""The public API: a cluster in memory, kube-scheduler's decisions, virtual time.

    sim = Simulation.load("cluster.json", config="sched.yaml", seed=1)
    result = sim.add("job.yaml").run()
    result.placements["default/web-0"].node
    print(result.explain("default/web-1").table())

The command `steersman simulate` uses nothing else. Everything that was done to a simulation is noted, so that it can be
done again: that is how a decision is explained afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Self, cast
from weakref import ref

from steersman import api
from steersman.api.field_check import Validation
from steersman.assembly import AttemptObserver, Scheduler, SchedulerOptions
from steersman.assembly.registry import PluginSource
from steersman.clock import ManualClock
from steersman.config import FeatureGates
from steersman.cycle.decision import Decision
from steersman.embedded import CONTROLLED_FINALIZERS, KubeAdmission, Store, delete, evict
from steersman.errors import InputError
from steersman.graph_copy import copied_attributes, no_value
from steersman.kubelets import (
    DEFAULT_POLICY,
    KubeletPolicy,
    PolicySource,
    check_annotations,
    cordon,
    uncordon,
)
from steersman.sim import changes, forks, sources
from steersman.sim.changes import refusals_as_input_errors
from steersman.sim.driver import Driver
from steersman.sim.forks import StateStamp
from steersman.sim.intake import Intake
from steersman.sim.journal import Journal, JournaledCall
from steersman.sim.moment import result_now
from steersman.sim.next_decision import NextDecision, check_feasible, next_decision
from steersman.sim.object_names import parse_reference, pod_key
from steersman.sim.recorder import Progress, Recorder
from steersman.sim.result import Result
from steersman.sim.setup import START, Configuration, SimulationSetup, loaded
from steersman.sim.sources import Gathered, Given, Source
from steersman.sim.tasks import SimulationError
from steersman.sim.writer import Preemption


@copied_attributes(_finalizer=no_value, _origin=no_value, _forked_at=no_value)
class Simulation:
    """A cluster and a scheduler. Nothing happens until `run` or `step`; both may be called again and again.

    `fork` (and `copy.deepcopy`, which is the same) gives another one in the same state. A pickled one is made again by doing
    everything that was done to this one.
    """

    def __init__(
        self,
        options: SchedulerOptions,
        seed: int = 0,
        start: float = START,
        kubelets: KubeletPolicy = DEFAULT_POLICY,
        *,
        controllers: bool = True,
    ) -> None:
        """An empty cluster; most callers want `load`. `start` is what the cluster's clock shows, as Unix time."""
        self._options = options
        self._seed = seed
        self._start = start
        clock = ManualClock(start)
        awaited = CONTROLLED_FINALIZERS if controllers else frozenset[str]()
        self._store = Store(clock, admission=KubeAdmission(check_annotations), awaited_finalizers=awaited)
        self._kubelets = kubelets
        self._controllers = controllers
        self._driver = Driver(self._store, clock, seed, options, kubelets, controllers=controllers)
        self._recorder = Recorder(self._driver)
        #: What was done so far.
        self._journal = Journal(self._store)
        self._intake = Intake(self._store, has_controllers=controllers)
        #: Of a fork: the simulation that it is a fork of, and the state in which that one was.
        self._origin: ref[Simulation] | None = None
        self._forked_at: StateStamp | None = None
        # A simulation that is dropped without `close` leaves no task behind, nor the event loop that runs it.
        self._finalizer = self._driver.closed_with(self)

    @classmethod
    def load(
        cls,
        *source: Source,
        config: Configuration = None,
        seed: int = 0,
        plugins: Iterable[PluginSource] = (),
        gates: FeatureGates | Mapping[str, bool] | None = None,
        stdin: BinaryIO | None = None,
        validate: Validation = "warn",
        controllers: bool = True,
        kubelets: PolicySource = None,
        extenders: bool = False,
    ) -> Self:
        """A simulation of what is given: manifests and dumps (files, directories, `-` for `stdin`) and API objects.

        `plugins` are Python files or classes; they run in every profile unless `config` says something else about them.
        `seed` decides among equally good nodes. `controllers` make the pods of Deployments and their like; pods that such an
        object owns already count as its replicas. `kubelets` says what becomes of pods once they are bound: a file with a
        KubeletPolicy, the document as a dict, or a `KubeletPolicy`; without a seed of its own it has this one. `extenders`:
        those of `config` are asked, in real time. Fields that the kind of an object does not have are errors ("strict"), in the
        notes of the result ("warn") or not looked for ("ignore"), by `validate`. Raises `InputError`, `ConfigError` and
        `PluginError`.
        """
        setup, gathered = loaded(
            source,
            config=config,
            seed=seed,
            plugins=plugins,
            gates=gates,
            stdin=stdin,
            validate=validate,
            controllers=controllers,
            kubelets=kubelets,
            extenders=extenders,
        )
        simulation = cls.made(setup)
        simulation._add(gathered)
        return simulation

    @classmethod
    def made(cls, setup: SimulationSetup) -> Self:
        """A simulation that is set up so, and to which nothing was done yet."""
        return cls(setup.options, setup.seed, setup.start, setup.kubelets, controllers=setup.controllers)

    # -- changing the cluster ----------------------------------------------------------------------------------------

    @property
    def cluster(self) -> Store:
        """The embedded cluster. What is changed there directly is scheduled as well, but cannot be explained afterwards."""
        return self._store

    @property
    def known_kinds(self) -> tuple[type[api.Object], ...]:
        """The kinds that the scheduler and its plugins look at: manifests of these are read."""
        return self._driver.scheduler.known_kinds

    @property
    def now(self) -> float:
        """Virtual time: seconds since the start."""
        return self._driver.now

    @property
    def profiles(self) -> tuple[str, ...]:
        """The scheduler names that there are profiles for."""
        return tuple(self._driver.scheduler.profiles)

    @property
    def preempted(self) -> tuple[Preemption, ...]:
        """The pods that had to make room for others so far."""
        return tuple(self._driver.writer.preemptions.values())

    def given(self, kind: type[api.Object], key: str) -> Given | None:
        """The object as it was given to `load` or `add`, before defaults were filled in; None if it was not."""
        return self._journal.given(kind, key)

    @property
    def refused_pods(self) -> Mapping[str, str]:
        """Pods that were given, and that a quota or limit range has not let in: `namespace/name` → why."""
        return self._intake.refused_pods

    @property
    def decisions(self) -> int:
        """How many decisions were made so far."""
        return self._driver.decisions

    @property
    def pods_tried_in_vain(self) -> int:
        """How many pods there were of which an attempt has failed so far."""
        return len(self._driver.writer.failures)

    @property
    def has_own_plugins_only(self) -> bool:
        """Whether every plugin of every profile ships with Steersman."""
        profiles = self._driver.scheduler.profiles.values()
        plugins = (plugin for profile in profiles for plugin in profile.plugins.values())
        return all(type(plugin).__module__.startswith("steersman.") for plugin in plugins)

    @property
    def setup(self) -> SimulationSetup:
        """How the simulation was made."""
        return SimulationSetup(self._options, self._seed, self._start, self._kubelets, self._controllers)

    @property
    def journal(self) -> Journal:
        """Everything that was done to the simulation, step by step."""
        return self._journal

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler, to be looked at; what is done to it is not in the journal."""
        return self._driver.scheduler

    def observe(self, observer: AttemptObserver) -> None:
        """Has the observer told what happens to every pod from now on; a fork tells its own copy of it. Decisions stay the
        same, but replicas are not placed together any more, which takes longer."""
        self._driver.scheduler.observe(observer)

    def add(self, *source: Source, stdin: BinaryIO | None = None, validate: Validation = "warn") -> Self:
        """More objects, as in `load`. Raises `InputError` for one that exists already."""
        self._add(sources.gather(source, stdin, self._driver.scheduler.known_kinds, validate))
        return self

    def apply(self, *source: Source, stdin: BinaryIO | None = None, validate: Validation = "warn") -> Self:
        """Adds objects; one that exists gets the spec, labels and annotations that are given. Raises `InputError`."""
        self._add(sources.gather(source, stdin, self._driver.scheduler.known_kinds, validate), replaces=True)
        return self

    def patch(self, what: str, document: Mapping[str, Any]) -> Self:
        """A JSON merge patch of an object: `("deployment/web", {"spec": {"replicas": 5}})`. Raises `InputError`."""
        kind, key = parse_reference(what, self.known_kinds)
        with self._journal.doing(JournaledCall("patch", (what, document))), refusals_as_input_errors():
            try:
                changes.patch(self._store, kind, key, document)
            except InputError as error:
                raise error.located(object=f"{kind.KIND} {key}") from error
        return self

    def delete(self, *what: str | api.Object) -> Self:
        """Objects, or texts such as `node/n1` and `pod/default/web-0`, go at once. Raises `InputError`."""
        for item in what:
            named = parse_reference(item, self.known_kinds) if isinstance(item, str) else (type(item), api.key(item))
            self._delete(*named)
        return self

    def crash(self, node: str) -> Self:
        """The node's kubelet falls silent; its pods stay until they are evicted or deleted. Raises `InputError`."""
        return self._do_to_node(node, "crash", self._driver.kubelets.crash)

    def recover(self, node: str) -> Self:
        """The kubelet of a node that crashed is back. Raises `InputError`."""
        return self._do_to_node(node, "recover", self._driver.kubelets.recover)

    def reboot(self, node: str) -> Self:
        """The node goes down and comes back; the containers on it are restarted. Raises `InputError`."""
        return self._do_to_node(node, "reboot", self._driver.kubelets.reboot)

    def drain(self, node: str) -> Self:
        """No new pods come to the node; those on it are evicted, at once or when budgets allow. Raises `InputError`."""
        return self._do_to_node(node, "drain", self._driver.drain)

    def cordon(self, node: str) -> Self:
        """No pods are scheduled on the node any more; those on it stay. Raises `InputError`."""
        return self._do_to_node(node, "cordon", lambda name: cordon(self._store, name))

    def uncordon(self, node: str) -> Self:
        """Pods may be scheduled on the node again. Raises `InputError`."""
        return self._do_to_node(node, "uncordon", lambda name: uncordon(self._store, name))

    def evict(self, pod: str) -> Self:
        """The pod `namespace/name` is evicted, with its own grace period, as the eviction API does. Raises `InputError`, also
        if a disruption budget does not allow it now."""
        key = pod_key(pod.removeprefix("pod/"))
        with self._journal.doing(JournaledCall("evict", (key,))), refusals_as_input_errors(f"Pod {key}"):
            evict(self._store, key, grace_period_seconds=None)
        return self

    # -- running -----------------------------------------------------------------------------------------------------

    def run(
        self,
        until: float | None = None,
        explain: Iterable[str] = (),
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        """Schedules until nothing changes any more, or until so many seconds after the start of the simulation.

        The decisions on the pods in `explain` are recorded as they are made. A simulation that does not come to rest is
        stopped: the result, as far as it got, says why in `stopped`.
        """
        self._recorder.watch(map(pod_key, explain))
        on_decision = self._recorder.decision_observer(self._intake.asked, on_progress)
        with self._journal.doing(JournaledCall("run", (until,))):
            try:
                self._driver.run(until, on_decision)
            except SimulationError as error:
                return result_now(self, stopped=str(error))
        return result_now(self)

    def advance(self, until: float | None = None, *, stops_at_rest: bool = False) -> None:
        """Runs as `run` does, without a result: for those who go on in small steps. With `stops_at_rest` it ends before `until`
        when nothing would change any more. Raises `SimulationError` where it does not come to rest."""
        on_decision = self._recorder.decision_observer()
        with self._journal.doing(JournaledCall("advance", (until,), {"stops_at_rest": stops_at_rest})):
            self._driver.run(until, on_decision, stops_at_rest=stops_at_rest)

    def settle(self, *, places: bool = True) -> None:
        """Lets controllers and kubelets do what is due at this moment, and `places` the pods that are ready for it; no time
        passes. For what-ifs on a fork."""
        with self._journal.doing(JournaledCall("settle", (), {"places": places})):
            self._driver.settle()
            if places:
                self._driver.decide_ready()

    def schedule_now(self, *, only_ready: bool = False) -> None:
        """Tries every pod that waits for a node, at this moment: backoffs are not waited for, and no time passes. With
        `only_ready`, those that were tried in vain are left alone. For what-ifs on a fork."""
        with self._journal.doing(JournaledCall("schedule_now", (), {"only_ready": only_ready})):
            if only_ready:
                self._driver.decide_ready()
            else:
                self._driver.schedule_now()

    def leave_out(self, pods: Sequence[api.Pod]) -> None:
        """The scheduler forgets these pods, which have no node; they stay in the cluster. For what-ifs on a fork."""
        with self._journal.doing(JournaledCall("leave_out", (pods,))):
            for pod in pods:
                self._driver.scheduler.ingest.deleted(pod)

    def look_at(self, pod: str) -> None:
        """Has plugins work out what they keep for the pod `namespace/name`, if it is there and has no node; forks that are made
        later know it too. Nothing is decided."""
        found = self._store.find(api.Pod, pod_key(pod))
        if found is not None and not found.spec.node_name:
            self._driver.look_at(self._driver.scheduler.cache.shapes.info(found))

    def prepare_preemption(self) -> None:
        """Has plugins work out whom pods could preempt; forks that are made later know it too."""
        self._driver.prepare_preemption()

    def refresh_plugins(self) -> None:
        """Has plugins find out what they know from outside, unless they have; forks that are made later know it too."""
        self._driver.refresh_plugins_once()

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing would change any more, however much time passes."""
        return self._driver.is_at_rest

    def step(self) -> Decision | None:
        """The next decision, after as much virtual time as that takes; None: nothing changes any more."""
        with self._journal.doing(JournaledCall("step")):
            decision = self._driver.step()
        if decision is not None:
            self._recorder.decided(decision)
        return decision

    def next_decision(self) -> NextDecision | None:
        """The pod that `step` would decide on next, with its feasible nodes, scores and verdicts, before anything is decided;
        None: nothing changes any more. As much virtual time passes as that takes. Plugins are asked once more than usual."""
        with self._journal.doing(JournaledCall("next_decision")):
            preview = self._driver.preview()
        return None if preview is None else next_decision(preview)

    def decide(self, node: str | None = None) -> Decision:
        """Places the pod of `next_decision` on that node, which has to be feasible; without a node as the scheduler would.

        A pod without a feasible node is decided on by `decide()` or `step()`: they try preemption. Raises `InputError` for a
        node that is not feasible, and if no pod waits; nothing is decided then.
        """
        with self._journal.doing(JournaledCall("decide", (node,))):
            preview = self._driver.preview()
            if preview is None:
                raise InputError("no pod waits for a decision", object="decide")
            if node is not None:
                check_feasible(preview, node)
            decision = self._driver.step(None if node is None else (preview.pod.uid, node))
        assert decision is not None, "there is a pod to decide on"
        self._recorder.decided(decision)
        return decision

    def result(self, stopped: str = "") -> Result:
        """The result of the steps so far, as `run` reports it; `stopped` says why they ended early, if they did."""
        return result_now(self, stopped)

    # -- forks -------------------------------------------------------------------------------------------------------

    def fork(self) -> Self:
        """Another simulation in the same state, within milliseconds; what happens to one of them does not touch the other.

        Both decide the same if the same is done to them. A fork is a transaction too: see `commit` and `revert`. While pods
        wait for a permission, and for plugins that hold what cannot be copied, a fork is made by doing everything again, which
        takes as long as it took. Raises `SimulationError` where that leads somewhere else.
        """
        made = cast("Self", forks.copied(self))
        made._origin, made._forked_at = ref(self), forks.stamp(self)
        made._finalizer = made._driver.closed_with(made)
        return made

    def reseed(self, seed: int) -> Self:
        """Becomes what `load` with this seed would have given. So one fork per seed serves, where loading takes its time.

        A fork is no fork of its origin any more. Raises `SimulationError` once chance may have had a say: after a run or
        another event, and where a policy or annotations tell the kubelets about pods that came with a node.
        """
        forks.reseed(self, seed)
        return self

    def commit(self) -> None:
        """The simulation that this one is a fork of becomes what this one is; this one goes on as a new fork of it.

        Raises `SimulationError` if the other one has changed since it was forked, or is gone. Read `cluster` of the other one
        again afterwards: the store is another one.
        """
        forks.commit(self)

    def revert(self) -> None:
        """Becomes again what the simulation is that this one is a fork of. Raises `SimulationError` if that is gone."""
        forks.revert(self)

    def _repr_html_(self) -> str:
        from steersman.sim.notebook import simulation_html

        return simulation_html(result_now(self))

    def close(self) -> None:
        """Ends pods' waiting for permission; only needed if a run ended before they did."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    __copy__ = fork

    def __deepcopy__(self, _: dict[int, object]) -> Self:
        return self.fork()

    def __reduce__(self) -> tuple[Any, ...]:
        return forks.pickled(self)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _add(self, gathered: Gathered, replaces: bool = False) -> None:
        with self._journal.doing(JournaledCall("_add", (gathered, replaces))):
            self._intake.add(gathered, self.now, replaces=replaces)

    def _delete(self, kind: type[api.Object], key: str) -> None:
        with self._journal.doing(JournaledCall("_delete", (kind, key))):
            with refusals_as_input_errors():
                delete(self._store, kind, key, propagation="Background", grace_period_seconds=0)
            self._driver.settle()  # what controllers held back, or what goes with it, is gone for whoever looks next

    def _do_to_node(self, node: str, method: str, act: Callable[[str], None]) -> Self:
        name = node.removeprefix("node/")
        with self._journal.doing(JournaledCall(method, (name,))), refusals_as_input_errors():
            act(name)
        return self
