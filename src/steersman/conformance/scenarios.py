# SPDX-License-Identifier: Apache-2.0
"""Replays golden scheduling scenarios: a small cluster, pods one after the other, and what kube-scheduler decided.

In come parsed scenario documents (see the corpus' FORMAT), out go results in the same format. Each pod gets one cycle of the
real assembly's parts (cache, profiles, cycle); afterwards the *expected* outcome is applied, so that one difference does
not spoil the rest of the sequence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from steersman import api
from steersman.api import codec
from steersman.clock import ManualClock
from steersman.conformance.devices import chosen_devices, reserve_devices, write_deallocation
from steersman.conformance.setting import Setting
from steersman.conformance.volumes import chosen_volumes, reserve_volumes
from steersman.cycle import commit
from steersman.cycle.decision import Decision, Failed, Scheduled, Unschedulable
from steersman.cycle.post_filter import PostFilterOutcome
from steersman.engine import scalar
from steersman.engine.evaluation import Evaluation, NodeStatuses, ScoreTable
from steersman.framework.cycle_state import CycleState
from steersman.framework.plugin import PostFilterResult
from steersman.framework.pod_info import PodInfo
from steersman.framework.status import Status
from steersman.preemption import Candidate, PreemptionReport
from steersman.rng import SeededRng
from steersman.runtime.faults import CycleAborted
from steersman.runtime.handle import TableNodes
from steersman.runtime.profile import Profile

Document = Mapping[str, Any]
Result = dict[str, Any]


def run_scenario(scenario: Document, *, scalar: bool = False) -> list[Result]:
    """One result per expected result, in order."""
    replay = ScenarioReplay(scenario, scalar)
    return list(replay.results())


class ScenarioReplay:
    """One scenario under way."""

    def __init__(self, scenario: Document, scalar: bool) -> None:
        self._scenario = scenario
        self._setting = Setting(scenario.get("config"), ManualClock(0.0), SeededRng(0), scalar)
        self._pods = [self._pod(document) for document in scenario["pods"]]
        #: Placed pods with claims, in order.
        self._placed: list[tuple[Profile, PodInfo, str]] = []
        for document in scenario["objects"]:
            self._add_object(document)
        for pod in self._pods:
            self._setting.api.pods[api.key(pod)] = pod
            self._setting.nominate_by_status(pod)

    def results(self) -> Iterator[Result]:
        expected: Sequence[Document] = self._scenario["expected"]
        index_of = {api.key(pod): index for index, pod in enumerate(self._pods)}
        for outcome in expected:
            index = index_of[outcome["pod"]]
            yield self._cycle(self._pods[index], outcome)
            self._apply(index, outcome)

    def _cycle(self, pod: api.Pod, outcome: Document) -> Result:
        result: Result = {"pod": api.key(pod), "profile": pod.spec.scheduler_name or "default-scheduler"}
        if "attempt" in outcome:
            result["attempt"] = outcome["attempt"]
        setting = self._setting
        profile = setting.profiles.get(result["profile"])
        if profile is None:
            return {**result, "outcome": "noProfile"}
        for call in profile.pre_enqueue:
            status = call.run(setting.cache.shapes.info(pod))
            if status is not None:
                return {**result, "outcome": "gated", "preEnqueue": status_document(status)}
        if pod.metadata.deletion_timestamp is not None:
            return {**result, "outcome": "skipped"}
        report: Result = {}

        def observe(_: PodInfo, evaluation: Evaluation) -> None:
            report.update(evaluation_document(evaluation, setting.node_names()))

        info = setting.cache.shapes.info(pod)
        decision = setting.cycle.schedule_one(info, observe)
        result.update(report, **decision_document(decision, report, setting.node_count))
        if isinstance(decision, Failed):
            result.update(self._pre_filter(profile, info))
        if isinstance(decision, Scheduled):
            commit.unreserve_and_forget(setting.cache, profile, decision.state, info, decision.node)
            self._keep_volumes()
            result.update(chosen_volumes(profile, info, result["selected"]))
            result.update(chosen_devices(profile, info, result["selected"]))
        return result

    def _pre_filter(self, profile: Profile, pod: PodInfo) -> Result:
        """The answers from before a plugin broke."""
        nodes = TableNodes(self._setting.cache.nodes).all()
        try:
            outcome = scalar.pre_filter(profile, CycleState(), pod, nodes)
        except CycleAborted:
            return {}
        return {"preFilter": {"skipped": sorted(outcome.skipped)}}

    def _apply(self, index: int, outcome: Document) -> None:
        """Brings the state to what the reference had after this cycle."""
        pod = self._pods[index]
        setting = self._setting
        if outcome["outcome"] == "scheduled":
            profile = setting.profiles[outcome["profile"]]
            info = setting.cache.shapes.info(pod)
            if info.shape.has_claims:
                self._placed.append((profile, info, outcome["selected"]))
            self._keep_volumes()
            reserve_devices(profile, info, outcome["selected"], setting.objects)
            setting.drop_nomination(pod)
            setting.cache.add_pod(_bound(pod, outcome["selected"], index))
            return
        write_deallocation(outcome, setting)
        nominating = outcome.get("postFilter", {}).get("nominating", "clear")
        if nominating == "set":
            self._nominate(index, outcome)
        elif nominating == "clear" and outcome["outcome"] in ("unschedulable", "error", "noNodes"):
            setting.drop_nomination(pod)

    def _keep_volumes(self) -> None:
        """Claims may be shared: taking back what one pod has reserved leaves the others without it."""
        for profile, pod, node in self._placed:
            reserve_volumes(profile, pod, node)

    def _nominate(self, index: int, outcome: Document) -> None:
        """Preemption found room: with eviction the victims go and the pod's status tells the node."""
        decided = outcome["postFilter"]
        for name in decided.get("clearedNominations", ()):
            self._setting.drop_nomination_of(name)
            self._show_nomination(name, "")
        node = decided["nominatedNode"]
        if self._scenario.get("evict") and outcome.get("attempt") == 1:
            for victim in decided["victims"]:
                self._setting.remove_pod(victim)
            self._show_nomination(outcome["pod"], node)
        self._setting.nominate(self._pods[index], node)

    def _show_nomination(self, name: str, node: str) -> None:
        """Writes the nomination into the pod's status; pods that get no cycle are not looked at."""
        for index, pod in enumerate(self._pods):
            if api.key(pod) == name:
                status = msgspec.structs.replace(pod.status, nominated_node_name=node)
                self._pods[index] = msgspec.structs.replace(pod, status=status)
                self._setting.api.pods[name] = self._pods[index]

    def _add_object(self, document: Document) -> None:
        obj = codec.convert_object(_with_uid(document))
        if isinstance(obj, api.Pod):
            self._setting.add_existing_pod(obj)
        else:
            self._setting.add_object(obj)

    def _pod(self, document: Document) -> api.Pod:
        pod = codec.convert_object(_with_uid({"apiVersion": "v1", "kind": "Pod", **document}))
        assert isinstance(pod, api.Pod)
        return pod


def _with_uid(document: Document) -> dict[str, Any]:
    meta = dict(document["metadata"])
    kind = document["kind"]
    meta.setdefault("uid", f"uid-{kind.lower()}-{meta.get('namespace', '')}-{meta['name']}")
    return {**document, "metadata": meta}


def _bound(pod: api.Pod, node: str, index: int) -> api.Pod:
    minutes, seconds = divmod(index, 60)
    status = msgspec.structs.replace(
        pod.status, phase="Running", nominated_node_name="", start_time=f"2031-01-01T00:{minutes:02}:{seconds:02}Z"
    )
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node), status=status)


# -- results in the corpus' format ---------------------------------------------------------------------------------------


def status_document(status: Status) -> Result:
    return {"code": status.code.label, "plugin": status.plugin, "reasons": list(status.reasons)}


def evaluation_document(evaluation: Evaluation, all_nodes: Sequence[str]) -> Result:
    outcome = evaluation.pre_filter
    pre_filter: Result = {"skipped": sorted(outcome.skipped)}
    if outcome.status is not None:
        return {"preFilter": {**pre_filter, "status": status_document(outcome.status), **_restriction(evaluation)}}
    document: Result = {"preFilter": {**pre_filter, **_restriction(evaluation)}}
    statuses = evaluation.statuses()
    document.update(_rejections(statuses, evaluation, all_nodes))
    document["feasible"] = sorted(evaluation.feasible())
    if evaluation.nominated_path:
        document["nominatedPath"] = True
    table = None if evaluation.nominated_path else evaluation.scores()
    if table is not None:
        document["scores"] = score_document(table)
    return document


def _restriction(evaluation: Evaluation) -> Result:
    names = evaluation.pre_filter.node_names
    return {} if names is None else {"restricted": True, "nodes": sorted(names)}


def _rejections(statuses: NodeStatuses, evaluation: Evaluation, all_nodes: Sequence[str]) -> Result:
    rejected = [
        {"code": s.code.label, "plugin": s.plugin, "reasons": sorted(s.reasons), "nodes": sorted(names)}
        for s, names in statuses.groups.items()
    ]
    document: Result = {"rejected": rejected} if rejected else {}
    if statuses.absent is not None:
        examined = {*evaluation.feasible(), *(name for names in statuses.groups.values() for name in names)}
        outside = sorted(name for name in all_nodes if name not in examined)
        reasons = sorted(statuses.absent.reasons)
        if outside:
            document["excluded"] = {"code": statuses.absent.code.label, "reasons": reasons, "nodes": outside}
    return document


def score_document(table: ScoreTable) -> Result:
    order = sorted(range(len(table.nodes)), key=lambda i: table.nodes[i])
    aligned = [
        {
            "name": p.name,
            "weight": p.weight,
            "raw": [int(p.raw[i]) for i in order],
            "norm": [int(p.normalised[i]) for i in order],
        }
        for p in table.plugins
    ]
    return {"skipped": sorted(table.skipped), "plugins": aligned, "total": [int(table.total[i]) for i in order]}


def decision_document(decision: Decision, report: Result, node_count: int) -> Result:
    if isinstance(decision, Scheduled):
        top = _top(report)
        selected = top[0] if decision.node in top else decision.node
        return {"outcome": "scheduled", "top": top, "selected": selected}
    if isinstance(decision, Failed):
        return {"outcome": "error", "message": decision.message}
    assert isinstance(decision, Unschedulable), decision
    diagnosis = decision.diagnosis
    if node_count == 0:
        return {"outcome": "noNodes", "message": decision.message}
    document: Result = {
        "outcome": "unschedulable",
        "message": decision.message,
        "unschedulablePlugins": sorted(diagnosis.unschedulable_plugins),
        "pendingPlugins": sorted(diagnosis.pending_plugins),
    }
    if decision.post_filter is not None:
        document["postFilter"] = post_filter_document(decision.post_filter)
    return document


def post_filter_document(outcome: PostFilterOutcome) -> Result:
    document: Result = {"status": _bare_status_document(outcome.status), "nominating": _nominating(outcome.result)}
    report = outcome.result.report if outcome.result is not None else None
    if isinstance(report, PreemptionReport) and report.choice is not None:
        best = candidate_document(report.choice.candidate)
        document["nominatedNode"] = best["node"]
        document["victims"] = best["victims"]
        document["pdbViolations"] = best["pdbViolations"]
        document["candidates"] = [candidate_document(candidate) for candidate in report.candidates]
        document["ties"] = sorted(report.choice.ties)
        document["clearedNominations"] = list(report.cleared_nominations)
    return document


def candidate_document(candidate: Candidate) -> Result:
    victims = [victim.key for victim in candidate.victims]
    return {"node": candidate.node, "victims": victims, "pdbViolations": candidate.pdb_violations}


def _nominating(result: PostFilterResult | None) -> str:
    if result is None or result.nominated_node is None:
        return "keep"
    return "set" if result.nominated_node else "clear"


def _bare_status_document(status: Status) -> Result:
    """A status as a document, without the parts that say nothing."""
    return {name: part for name, part in status_document(status).items() if part}


def _top(report: Result) -> list[str]:
    """The best nodes, sorted; the corpus takes the first of them where the reference chooses at random."""
    feasible: list[str] = report["feasible"]
    if "scores" not in report:
        return feasible
    totals = report["scores"]["total"]
    greatest = max(totals)
    return [name for name, total in zip(feasible, totals, strict=True) if total == greatest]
