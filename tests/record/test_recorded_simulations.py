# SPDX-License-Identifier: Apache-2.0
"""A simulation is recorded, and decides the same when it is replayed."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.equivalence.examples import examples
from tests.simulation.busy_clusters import Action, busy_cluster, histories
from tests.simulation.clusters import a_node, a_pod, nodes, pods
from tests.simulation.test_binding_that_waits import TakesTime

from steersman import api
from steersman.base.errors import InputError, SteersmanError
from steersman.framework import NodeInfo, PodInfo, ScorePlugin
from steersman.framework.status import Status, error
from steersman.record import (
    Differs,
    Limits,
    RecordReader,
    Replay,
    history,
    record_simulation,
    replay,
    simulation_at,
)
from steersman.record.frames import FrameKind
from steersman.record.items import SimulationItem, given_items
from steersman.record.recorded_run import read_run
from steersman.record.segments import segment_files
from steersman.record.simulation_recorder import CALLS, NAMES_BY_METHOD
from steersman.scheduler.assembly import AttemptObserver
from steersman.scheduler.cycle.decision import Decision, Scheduled
from steersman.scheduler.diagnosis import Outcome
from steersman.scheduler.engine.evaluation import Evaluation, ScoreTable
from steersman.scheduler.queue import QueuedPodInfo
from steersman.simulation import Simulation, simulated_cluster
from steersman.simulation.virtual_time.writer import EmbeddedWriter
from steersman.testing import PodBuilder, make_node, make_pod
from steersman.testing.conformance.record_extraction import extract

PACKED = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"score": {"disabled": [{"name": "*"}]}}}],
}
PLUGIN = """
from steersman.framework import ScorePlugin

class PrefersLast(ScorePlugin):
    name = "PrefersLast"

    def score(self, pod, node):
        return 100 if node.name == "n3" else 0
"""


def recorded(directory: Path, simulation: Simulation, *acts: Action, limits: Limits | None = None) -> Any:
    """The outcome of the last act."""
    outcome = None
    with record_simulation(simulation, directory, limits):
        for act in acts:
            outcome = act(simulation)
    return outcome


def run(simulation: Simulation) -> Any:
    return simulation.run().to_dict()


def is_the_same(found: Replay) -> bool:
    return found.is_same and found.same == found.recorded > 0 and not found.notes


@examples(12)
@given(histories)
def test_a_busy_simulation_is_replayed_to_the_last_score(history_of: list[Action]) -> None:
    with TemporaryDirectory() as name:
        simulation = busy_cluster(3)
        recorded(Path(name), simulation, *history_of, lambda sim: sim.run(until=sim.now + 30))
        found = replay(name)
        assert is_the_same(found), found
        assert found.recorded == simulation.decisions


def test_recording_changes_no_decision(tmp_path: Path) -> None:
    watched = recorded(tmp_path, busy_cluster(5), lambda sim: sim.run(until=100).to_dict())
    assert watched == busy_cluster(5).run(until=100).to_dict()


class _Compares(ScorePlugin):
    """A plugin without a vector form: asked node by node."""

    name = "Compares"

    def score(self, pod: PodInfo, node: NodeInfo) -> int:
        return len(node.pods) * 7 % 101


class _ComparesTotals(AttemptObserver):
    """Compares the column by which a node was chosen with the table of scores."""

    def __init__(self) -> None:
        self.compared = 0
        self._evaluation: Evaluation | None = None
        self._table: ScoreTable | None = None

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        self._evaluation, self._table = evaluation, evaluation.scores()

    def decided(self, queued: QueuedPodInfo, decision: Decision) -> None:
        evaluation, table = self._evaluation, self._table
        if not isinstance(decision, Scheduled) or evaluation is None:
            return
        ranked = evaluation.ranked_totals(decision.node)
        assert (table is None) == (ranked is None)
        if table is not None and ranked is not None:
            self.compared += 1
            feasible = Counter(total for total in ranked.totals.tolist() if total >= 0)
            assert Counter(table.total) <= feasible, "rows that a filter of the whole cluster rejects are there as well"
            assert ranked.totals[ranked.row] == table.total[list(table.nodes).index(decision.node)]


@pytest.mark.parametrize("plugins", [[], [_Compares]])
def test_totals_by_which_nodes_are_chosen_are_those_of_the_table_of_scores(plugins: list[type[ScorePlugin]]) -> None:
    observer = _ComparesTotals()
    simulation = busy_cluster(1, plugins=plugins)
    simulation.scheduler.observe(observer)
    simulation.run(until=60)
    assert observer.compared > 5


def test_a_decision_takes_less_than_a_kilobyte(tmp_path: Path) -> None:
    cluster = [a_node(f"n{index}").obj() for index in range(20)]
    recorded(tmp_path, Simulation.load(cluster, pods(150, cpu="100m")), run)
    reader = RecordReader(tmp_path)
    found = [frame for frame in reader.frames() if frame.kind in (FrameKind.DECISION, FrameKind.BINDING)]
    assert sum(len(frame.body) for frame in found) / 150 < 1000
    assert sum(path.stat().st_size for path in segment_files(tmp_path)) / 150 < 200, "compressed, objects included"


def test_preemption_is_in_the_record_with_its_victims(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1"), a_pod("modest", cpu="3").obj())
    recorded(tmp_path, simulation, run, lambda sim: sim.add(a_pod("mighty", cpu="3").priority(100).obj()), run)
    assert [entry.event for entry in history(tmp_path, "mighty").entries] == [
        *("added", "unschedulable", "nominated", "scheduled", "bound")
    ]
    last = history(tmp_path, "modest").entries[-1]
    assert (last.event, last.node, last.message) == ("preempted", "n1", "for default/mighty")
    assert is_the_same(replay(tmp_path))


def test_waiting_pods_and_failed_bindings_are_recorded(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1"), pods(2), plugins=[TakesTime])
    recorded(tmp_path, simulation, run)
    bound = [entry for entry in history(tmp_path, "node/n1").entries if entry.event == "bound"]
    assert [entry.at for entry in bound] == [placement.at for placement in simulation.result().placements.values()]
    with pytest.raises(SteersmanError, match="TakesTime"):
        replay(tmp_path)
    assert "n1" in {entry.node for entry in history(tmp_path, "pod-0").entries}


def test_what_others_decide_on_a_fork_is_not_recorded(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1", "n2"), pods(3))
    with record_simulation(simulation, tmp_path):
        simulation.run()
        fork = simulation.fork()
        fork.add(a_pod("more").obj()).run()
    assert len(read_run(tmp_path).decisions) == 3
    assert is_the_same(replay(tmp_path))


def test_a_simulation_may_have_run_before_it_is_recorded(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1", "n2"), pods(3))
    simulation.run()
    recorded(tmp_path, simulation, lambda sim: sim.add(a_pod("more").obj()), run)
    found = replay(tmp_path)
    assert (found.is_same, found.recorded) == (True, 1)
    assert found.notes == ("the first 3 decisions are not in the record any more, and are not compared",)


def test_a_record_that_lost_its_beginning_is_replayed_from_where_it_is_complete(tmp_path: Path) -> None:
    cluster = [a_node(f"n{index}").obj() for index in range(30)]
    simulation = Simulation.load(cluster)
    with record_simulation(simulation, tmp_path, Limits(segment_bytes=2_000, total_bytes=12_000)) as recorder:
        for number in range(200):
            simulation.add(a_pod(f"p{number}", cpu="100m").obj()).run(until=number)
            recorder._log.flush()
    found = replay(tmp_path)
    assert found.is_same
    assert 0 < found.recorded < 200
    assert found.notes == (
        f"the first {200 - found.recorded} decisions are not in the record any more, and are not compared",
    )
    first = history(tmp_path, f"p{200 - found.recorded}")
    assert found.since == found.start + first.since > found.start
    assert history(tmp_path, "p5").entries[0].at == 4.0, "when it was added, not when the segment began"


def test_a_segment_that_is_wanted_within_a_call_starts_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a record that lost its beginning has all objects of its calls."""
    simulation = Simulation.load(nodes("n1", "n2"))

    def given_items_of_full_segments(*given: Any, **options: Any) -> Iterator[SimulationItem]:
        for item in given_items(*given, **options):
            recorder._log.wants_segment = recorder._log.wants_attention = True
            yield item

    with record_simulation(simulation, tmp_path) as recorder:
        monkeypatch.setattr("steersman.record.simulation_recorder.given_items", given_items_of_full_segments)
        for number in range(4):
            several = [
                make_node(f"m{number}").obj(),
                a_pod(f"p{number}", cpu="1m").obj(),
                make_node(f"o{number}").obj(),
            ]
            simulation.add(several).run(until=number + 1)
            recorder.flush()
        monkeypatch.undo()
    files = segment_files(tmp_path)
    assert len(files) > 3
    for file in files[:-1]:
        assert replay(tmp_path).is_same
        file.unlink()
    assert replay(tmp_path).is_same


def test_a_record_that_was_torn_is_replayed_as_far_as_it_goes(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1", "n2", "n3"), pods(6))
    with record_simulation(simulation, tmp_path) as recorder:
        for _ in range(6):
            simulation.step()
            recorder._log.flush()
    (path,) = segment_files(tmp_path)
    os.truncate(path, path.stat().st_size - 200)
    found = replay(tmp_path)
    assert found.is_same
    assert 0 < found.recorded < 6
    assert found.notes[0] == "the record ends early: it was not closed"
    assert "the last second is missing at most" in found.notes[1]


@pytest.fixture(scope="module")
def some_record() -> Iterator[bytes]:
    with TemporaryDirectory() as name:
        simulation = busy_cluster(3)
        with record_simulation(simulation, name) as recorder:
            for _ in range(8):
                simulation.step()
                recorder._log.flush()
        (path,) = segment_files(Path(name))
        yield path.read_bytes()


@examples(15)
@given(st.data())
def test_a_damaged_record_is_refused_or_replayed_as_far_as_it_goes(some_record: bytes, data: st.DataObject) -> None:
    content = bytearray(some_record)
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with TemporaryDirectory() as name:
        (Path(name) / "00000001.segment").write_bytes(content)
        try:
            found = replay(name)
        except InputError:
            return
        assert found.is_same
        assert found.notes


def test_another_configuration_shows_what_it_would_have_decided(tmp_path: Path) -> None:
    recorded(tmp_path / "record", Simulation.load(nodes("n1", "n2", "n3"), pods(6), seed=1), run)
    (tmp_path / "config.yaml").write_text(json.dumps(PACKED))
    found = replay(tmp_path / "record", configuration=str(tmp_path / "config.yaml"))
    assert {difference.differs for difference in found.differences} == {Differs.NODE}
    assert found.same == 6 - len(found.differences)
    expected = Simulation.load(nodes("n1", "n2", "n3"), pods(6), seed=1, config=PACKED).run().placements
    for difference in found.differences:
        assert difference.decided is not None
        assert difference.decided.node == expected[difference.pod].node
    document = found.to_dict()
    assert (document["kind"], document["isSame"]) == ("Replay", False)


def test_another_plugin_shows_what_it_would_have_decided(tmp_path: Path) -> None:
    recorded(tmp_path / "record", Simulation.load(nodes("n1", "n2", "n3"), pods(3)), run)
    file = tmp_path / "plugin.py"
    file.write_text(PLUGIN)
    found = replay(tmp_path / "record", plugins=[file])
    assert found.differences
    assert {difference.decided.node for difference in found.differences if difference.decided} == {"n3"}


def test_plugins_are_read_from_their_files_which_may_have_changed_or_gone(tmp_path: Path) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(PLUGIN)
    recorded(tmp_path / "record", Simulation.load(nodes("n1", "n3"), pods(3), plugins=[file]), run)
    assert is_the_same(replay(tmp_path / "record", plugins=[file]))
    assert is_the_same(replay(tmp_path / "record", trusts_record=True))
    file.write_text(PLUGIN.replace("n3", "n1"))
    found = replay(tmp_path / "record", plugins=[file])
    assert found.notes == (f"{file} is not what it was when the record was made",)
    assert found.differences[0].differs is Differs.NODE
    file.unlink()
    with pytest.raises(InputError, match="does not exist any more, and the record needs its plugins"):
        replay(tmp_path / "record", trusts_record=True)
    elsewhere = tmp_path / "elsewhere.py"
    elsewhere.write_text(PLUGIN)
    assert is_the_same(replay(tmp_path / "record", plugins=[elsewhere])), "a file of the same content stands for it"


def test_no_file_that_a_record_names_is_run_without_consent(tmp_path: Path) -> None:
    file, ran = tmp_path / "plugin.py", tmp_path / "ran"
    file.write_text(PLUGIN)
    recorded(tmp_path / "record", Simulation.load(nodes("n1", "n3"), pods(3), plugins=[file]), run)
    file.write_text(f"{PLUGIN}\nopen({str(ran)!r}, 'w').close()\n")
    other = tmp_path / "other.py"
    other.write_text(PLUGIN.replace("PrefersLast", "Other"))
    for use in (
        lambda: replay(tmp_path / "record"),
        lambda: replay(tmp_path / "record", plugins=[other]),
        lambda: simulation_at(tmp_path / "record", 0.0),
        lambda: simulation_at(tmp_path / "record", 0.0, plugins=[other]),
        lambda: extract(tmp_path / "record", "pod-0"),
    ):
        with pytest.raises(InputError, match="plugin"):
            use()
    assert history(tmp_path / "record", "pod-0").entries, "nothing has to be run for that"
    assert not ran.exists()
    simulation_at(tmp_path / "record", 0.0, plugins=[file]).close()
    assert ran.exists()


def test_an_attempt_that_fails_differs_in_its_outcome(tmp_path: Path) -> None:
    recorded(tmp_path / "record", Simulation.load(nodes("n1"), a_pod("small").obj()), run)
    nowhere = PLUGIN.replace("ScorePlugin", "FilterPlugin").replace("def score", "def filter")
    (tmp_path / "plugin.py").write_text(nowhere.replace('100 if node.name == "n3" else 0', '"nobody is welcome"'))
    difference = replay(tmp_path / "record", plugins=[tmp_path / "plugin.py"]).differences[0]
    assert difference.differs is Differs.OUTCOME
    assert difference.decided is not None
    assert difference.decided.outcome is Outcome.UNSCHEDULABLE


def test_changes_that_no_record_can_know_of_are_reported(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1"), pods(1))
    recorded(tmp_path, simulation, lambda sim: sim.cluster.create(a_node("n2").obj()), run)
    assert "something was done to the simulation that is not in the record" in replay(tmp_path).notes


def test_pods_that_are_left_out_are_left_out_in_a_replay(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1"), a_pod("large").req(cpu="100").obj(), a_pod("small").obj()).fork()
    left_out = simulation.cluster.get(api.Pod, "default/large")
    recorded(tmp_path, simulation, lambda _: simulation.exclude([left_out]), run)
    found = replay(tmp_path)
    assert is_the_same(found)
    assert {body.pod for body in read_run(tmp_path).decisions} == {"default/small"}


def test_changes_of_objects_are_replayed(tmp_path: Path) -> None:
    simulation = Simulation.load(nodes("n1"), pods(5))
    recorded(
        tmp_path,
        simulation,
        run,
        lambda sim: sim.patch("node/n1", {"status": {"allocatable": {"cpu": "8"}}}),
        lambda sim: sim.delete("pod/default/pod-0"),
        lambda sim: sim.apply(api.codec.to_dict(a_node("n2").obj())),
        run,
    )
    assert simulation.result().summary.pending == 0
    assert is_the_same(replay(tmp_path))


def test_every_step_of_a_journal_can_be_recorded() -> None:
    text = Path(simulated_cluster.__file__).read_text(encoding="utf-8")
    methods = re.findall(r'(?:JournaledCall\(|_change_node\(node, )"(\w+)"', text)
    assert {NAMES_BY_METHOD.get(method, method) for method in methods} == CALLS


def test_a_directory_that_holds_a_record_is_not_written_to(tmp_path: Path) -> None:
    recorded(tmp_path, Simulation.load(nodes("n1"), pods(1)), run)
    with pytest.raises(InputError, match="holds a record already"):
        recorded(tmp_path, Simulation.load(nodes("n1"), pods(1)), run)


def test_a_simulation_that_asks_extenders_is_not_recorded(tmp_path: Path) -> None:
    config = {**PACKED, "extenders": [{"urlPrefix": "http://127.0.0.1:9", "filterVerb": "filter"}]}
    asking = Simulation.load(nodes("n1"), pods(1), config=config, extenders=True)
    with pytest.raises(InputError, match="what extenders answer is not recorded yet"):
        recorded(tmp_path / "asking", asking, run)
    recorded(tmp_path / "record", Simulation.load(nodes("n1"), pods(1), config=config), run)
    assert is_the_same(replay(tmp_path / "record"))


def test_the_history_of_what_is_not_there_is_refused(tmp_path: Path) -> None:
    recorded(tmp_path, Simulation.load(nodes("n1"), pods(1)), run)
    assert history(tmp_path, "n1").subject == "node/n1"
    for name in ("nobody", "pod/n1", "node/pod-0", "other/pod-0"):
        with pytest.raises(InputError, match="it is not in the record"):
            history(tmp_path, name)


ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def plain_replica(index: int) -> PodBuilder:
    return make_pod(f"p-{index}").label("app", "web").req(cpu="250m")


def spread_replica(index: int) -> PodBuilder:
    """Scored by the whole cluster."""
    pod = plain_replica(index).spread(ZONE, max_skew=1, when="ScheduleAnyway", selector={"app": "web"})
    return pod.spread(HOSTNAME, max_skew=2, when="ScheduleAnyway", selector={"app": "web"})


def strictly_spread_replica(index: int) -> PodBuilder:
    """Filtered and scored by the whole cluster."""
    pod = plain_replica(index).spread(HOSTNAME, max_skew=1, when="DoNotSchedule", selector={"app": "web"})
    return pod.spread(ZONE, max_skew=1, when="ScheduleAnyway", selector={"app": "web"})


def _replicas(template: Callable[[int], PodBuilder] = plain_replica, nodes: int = 20) -> Simulation:
    """Many pods of one template, some of which find no node."""
    zones = (make_node(f"n{index}").capacity(cpu="4", pods=8).label(ZONE, f"z{index % 3}") for index in range(nodes))
    simulation = Simulation.load([node.label(HOSTNAME, f"n{n}").obj() for n, node in enumerate(zones)], seed=3)
    simulation.add([template(index).obj() for index in range(330)])
    return simulation


class _SeesEvaluations(AttemptObserver):
    """Wants to see every pod by itself, so that no replicas are placed together."""

    def evaluated(self, pod: PodInfo, evaluation: Evaluation) -> None:
        """Not looked at."""


@pytest.mark.parametrize("template", [plain_replica, spread_replica, strictly_spread_replica])
def test_replicas_are_placed_together_while_they_are_recorded_and_decided_as_one_by_one(
    tmp_path: Path, template: Callable[[int], PodBuilder]
) -> None:
    """`schedule_one` is the specification: decisions, totals and digests are the same."""
    found = []
    for name, observers in (("together", []), ("alone", [_SeesEvaluations()])):
        simulation = _replicas(template, 60)
        for observer in observers:
            simulation.scheduler.observe(observer)
        recorded(tmp_path / name, simulation, lambda sim: sim.run(until=5))
        found.append({(body.pod, body.attempt): body for body in read_run(tmp_path / name).decisions})
    together, alone = found
    assert together == alone
    assert sum(bool(body.digest) for body in together.values()) > 100
    assert replay(tmp_path / "together").is_same
    assert replay(tmp_path / "alone").is_same
    events = [entry.event for entry in history(tmp_path / "together", "p-7").entries]
    assert events == [entry.event for entry in history(tmp_path / "alone", "p-7").entries]


def test_a_replica_that_is_not_bound_has_its_decision_before_the_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bind = EmbeddedWriter.bind_nowait

    def bind_all_but_one(self: EmbeddedWriter, pod: PodInfo, node_name: str) -> Status | None:
        return error("the server is busy") if pod.key == "default/p-5" else bind(self, pod, node_name)

    monkeypatch.setattr(EmbeddedWriter, "bind_nowait", bind_all_but_one)
    recorded(tmp_path, _replicas(), lambda sim: sim.run(until=0.5))
    events = [entry.event for entry in history(tmp_path, "p-5").entries]
    assert events == ["added", "scheduled", "not bound"]
    assert [entry.event for entry in history(tmp_path, "p-6").entries] == ["added", "scheduled", "bound"]
