# SPDX-License-Identifier: Apache-2.0
"""Replays golden scheduling scenarios: a small cluster, pods in turn, kube-scheduler's decisions.

Results have the same format as the scenarios (see the corpus' FORMAT). Each pod gets one cycle of
the real assembly (cache, profiles, cycle); then the *expected* outcome is applied, so that a
difference does not affect later pods.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from steersman import api
from steersman.api import codec
from steersman.base import ManualClock, SeededRng
from steersman.framework import CycleAborted, CycleState, PodInfo, PostFilterResult, Status
from steersman.scheduler.assembly import Selection
from steersman.scheduler.cycle import Decision, Failed, PostFilterOutcome, Scheduled, Unschedulable
from steersman.scheduler.engine import Evaluation, NodeStatuses, ScoreTable, scalar
from steersman.scheduler.preemption import Candidate, PreemptionReport
from steersman.scheduler.runtime import Profile, TableNodes
from steersman.testing.conformance.devices import chosen_devices, reserve_devices, write_deallocation
from steersman.testing.conformance.setting import (
    Setting,
    chosen_volumes,
    gates_of_line,
    reserve_volumes,
    searched_document,
    with_adaptive_percentage,
)

Document = Mapping[str, Any]
Result = dict[str, Any]


def run_scenario(scenario: Document, *, scalar: bool = False) -> list[Result]:
    """Return a result per expected result, in order."""
    replay = ScenarioReplay(scenario, scalar)
    return list(replay.results())


class ScenarioReplay:
    """Replay of one scenario."""

    def __init__(self, scenario: Document, scalar: bool) -> None:
        self._scenario = scenario
        configuration = scenario.get("config")
        if scenario.get("sampling"):
            nodes = sum(document["kind"] == "Node" for document in scenario["objects"])
            configuration = with_adaptive_percentage(configuration or {}, nodes)
        gates = gates_of_line(scenario)
        self._setting = Setting(configuration, ManualClock(0.0), SeededRng(0), scalar, gates, scenario.get("extenders"))
        self._setting.scheduler.extender_cycle.on_selection = self._select
        #: The selection of the current cycle, if extenders took part.
        self._selection: Selection | None = None
        self._pods = [self._pod(document) for document in scenario["pods"]]
        #: Placed pods with claims, in order.
        self._placed: list[tuple[Profile, PodInfo, str]] = []
        for document in scenario["objects"]:
            self._setting.change(codec.convert_object(with_uid(document)))
        for pod in self._pods:
            self._setting.change(pod)
        pods = self._setting.scheduler.pods.values()
        self._setting.transport.pod_names = {pod.metadata.uid: api.key(pod) for pod in pods}

    def _select(self, selection: Selection) -> None:
        self._selection = selection

    def results(self) -> Iterator[Result]:
        expected: Sequence[Document] = self._scenario["expected"]
        index_of = {api.key(pod): index for index, pod in enumerate(self._pods)}
        for outcome in expected:
            index = index_of[outcome["pod"]]
            yield self._cycle(self._pods[index], outcome)
            self._apply(index, outcome)

    def _cycle(self, pod: api.Pod, outcome: Document) -> Result:
        result: Result = {"pod": api.key(pod), "profile": pod.scheduler_name}
        if "attempt" in outcome:
            result["attempt"] = outcome["attempt"]
        setting = self._setting
        profile = setting.profiles.get(result["profile"])
        if profile is None:
            return {**result, "outcome": "noProfile"}
        info = setting.info(pod)
        gate = setting.gate(info)
        if gate is not None:
            return {**result, "outcome": "gated", "preEnqueue": status_document(gate)}
        if pod.metadata.deletion_timestamp is not None:
            return {**result, "outcome": "skipped"}
        report: Result = {}

        def observe(_: PodInfo, evaluation: Evaluation) -> None:
            report.clear()
            report.update(evaluation_document(evaluation, setting.node_names()))

        self._selection = None
        decision = setting.decide_with_extenders(info, observe)
        if setting.scheduler.extender_cycle.interested_in(info):
            report = {} if isinstance(decision, Failed) else {**report, **extended_document(self._selection)}
        elif setting.scheduler.options.extenders and "scores" in report:
            report["scores"]["withoutExtenders"] = report["scores"]["total"]
        result.update(report, **decision_document(decision, report, setting.node_count))
        if self._scenario.get("sampling"):
            result.update(searched_document(result, setting.cycle.search))
        if isinstance(decision, Failed):
            result.update(self._pre_filter(profile, info))
        if isinstance(decision, Scheduled):
            result.update(self._bind(decision, result["selected"]))
            setting.undo(decision)
            self._keep_volumes()
        if result["outcome"] == "scheduled":
            result.update(chosen_volumes(profile, info, result["selected"]))
            result.update(chosen_devices(profile, info, result["selected"]))
        if calls := setting.transport.take_calls():
            result["extenderCalls"] = calls
        return result

    def _bind(self, decision: Scheduled, selected: str) -> Result:
        """Return what binding to the selected node adds to the result."""
        if not self._setting.scheduler.options.extenders:
            return {}
        choice = msgspec.structs.replace(decision.choice, node=selected)
        failure, by_extender = self._setting.bind(msgspec.structs.replace(decision, choice=choice))
        if failure is not None:
            return {"outcome": "bindFailed", "message": failure.message}
        return {"boundByExtender": True} if by_extender else {}

    def _pre_filter(self, profile: Profile, pod: PodInfo) -> Result:
        """Return the PreFilter results from before the failure of a plugin."""
        nodes = TableNodes(self._setting.cache.nodes).all()
        try:
            outcome = scalar.pre_filter(profile, CycleState(), pod, nodes)
        except CycleAborted:
            return {}
        return {"preFilter": {"skipped": sorted(outcome.skipped)}}

    def _apply(self, index: int, outcome: Document) -> None:
        """Apply the reference's outcome of this cycle."""
        pod = self._pods[index]
        setting = self._setting
        if outcome["outcome"] == "scheduled":
            profile = setting.profiles[outcome["profile"]]
            info = setting.info(pod)
            if info.shape.has_claims:
                self._placed.append((profile, info, outcome["selected"]))
            self._keep_volumes()
            reserve_devices(profile, info, outcome["selected"], setting.objects)
            setting.change(_bound(pod, outcome["selected"], index))
            return
        write_deallocation(outcome, setting)
        nominating = outcome.get("postFilter", {}).get("nominating", "clear")
        if nominating == "set":
            self._nominate(index, outcome)
        elif nominating == "clear" and outcome["outcome"] in ("unschedulable", "error", "noNodes", "bindFailed"):
            setting.drop_nomination(outcome["pod"])

    def _keep_volumes(self) -> None:
        """Reserve volumes again: undoing one pod's reservation frees shared claims."""
        for profile, pod, node in self._placed:
            reserve_volumes(profile, pod, node)

    def _nominate(self, index: int, outcome: Document) -> None:
        """Apply a preemption: nominate the pod; with `evict`, delete the victims."""
        decided = outcome["postFilter"]
        for name in decided.get("clearedNominations", ()):
            self._show_nomination(name, "")
            self._setting.drop_nomination(name)
        node = decided["nominatedNode"]
        if self._scenario.get("evict") and outcome.get("attempt") == 1:
            for victim in decided["victims"]:
                self._setting.delete(self._setting.scheduler.pods[victim])
            self._show_nomination(outcome["pod"], node)
        self._setting.nominate(self._pods[index], node)

    def _show_nomination(self, name: str, node: str) -> None:
        """Write the nomination into the status of the pod, if it has cycles."""
        for index, pod in enumerate(self._pods):
            if api.key(pod) == name:
                status = msgspec.structs.replace(pod.status, nominated_node_name=node)
                self._pods[index] = msgspec.structs.replace(pod, status=status)
                self._setting.change(self._pods[index])

    def _pod(self, document: Document) -> api.Pod:
        """Return the pod without a resource version, as the replay changes it."""
        pod = codec.convert_object(with_uid({"apiVersion": "v1", "kind": "Pod", **document}))
        assert isinstance(pod, api.Pod)
        return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, resource_version=""))


def with_uid(document: Document) -> dict[str, Any]:
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


def extended_document(selection: Selection | None) -> Result:
    """Return `feasible` and `scores` after the extenders; without a selection no node has passed
    them."""
    document: Result = {"feasible": sorted(selection.nodes) if selection is not None else [], "scores": None}
    if selection is not None and selection.table is not None:
        scores = score_document(selection.table)
        totals = dict(zip(selection.nodes, selection.totals, strict=True))
        total = [int(totals[name]) for name in document["feasible"]]
        document["scores"] = {**scores, "withoutExtenders": scores["total"], "total": total}
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
    """Return the status without empty parts."""
    return {name: part for name, part in status_document(status).items() if part}


def _top(report: Result) -> list[str]:
    """Return the best nodes, sorted; the corpus takes the first where the reference is random."""
    feasible: list[str] = report["feasible"]
    if report.get("scores") is None:
        return feasible
    totals = report["scores"]["total"]
    greatest = max(totals)
    return [name for name, total in zip(feasible, totals, strict=True) if total == greatest]
