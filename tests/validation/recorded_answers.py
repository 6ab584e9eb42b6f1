# SPDX-License-Identifier: Apache-2.0
"""Compare the API server with recorded answers of kube-apiserver, and print how many agree.

    python -m tests.validation.recorded_answers expected-1.36-public.jsonl.gz

The cluster emulates the version of the recordings, 1.36, or `--emulated-version`.

The first line of a file has objects that exist before (`fixtures`), and objects that cases update (`bases`). Every other
line is a case: an object that is created, or edits of a base or of its `subresource`, and the recorded answer. All
requests are dry runs.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tests.apiserver.embedded_api import EmbeddedApi

from steersman.config import FeatureGates

Json: TypeAlias = dict[str, Any]

NAMESPACE = "validation"
OPTIONS = "fieldValidation=Strict&fieldManager=validation"
SCHEDULING_KINDS = frozenset(
    {
        *(
            "Pod",
            "Node",
            "Namespace",
            "PriorityClass",
            "PodDisruptionBudget",
            "ResourceQuota",
            "LimitRange",
            "RuntimeClass",
        ),
        *("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job", "CronJob", "Service"),
        *("PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSIDriver", "CSINode"),
        *("ResourceClaim", "ResourceClaimTemplate", "DeviceClass", "ResourceSlice"),
    }
)
"""Kinds that scheduling reads."""
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_STEP = re.compile(r'\.?([A-Za-z0-9_$/-]+)|\[(\d+)\]|\["([^"]*)"\]')
_EDIT = re.compile(r'((?:[A-Za-z0-9_$./-]|\[\d+\]|\["[^"]*"\])+?)(\+=|=|-$)(.*)', re.S)


class Figures(NamedTuple):
    """Numbers of cases that agree, of all cases and of those that kube-apiserver refuses."""

    cases: int
    status: int
    refused: int
    fields: int
    messages: int

    def __str__(self) -> str:
        parts = (("status", self.status, self.cases), ("field", self.fields, self.refused))
        shown = [f"{name} {found}/{of} ({found / max(1, of):.1%})" for name, found, of in parts]
        return ", ".join(
            [*shown, f"message {self.messages}/{self.refused} ({self.messages / max(1, self.refused):.1%})"]
        )


class Comparison(NamedTuple):
    """A case and the answer to it; `difference` is the first part that differs, "" if none does."""

    case: Json
    answer: Json
    difference: str


def read(path: Path) -> tuple[Json, list[Json]]:
    """Return the first line of a file, and its cases."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        head, *cases = map(json.loads, lines)
    return head, cases


def compare(head: Json, cases: Iterable[Json], cluster: EmbeddedApi) -> list[Comparison]:
    """Run the cases on an empty cluster."""
    for document in (*head["fixtures"], *head["bases"].values()):
        path = _collection(cluster, document["kind"], document["metadata"].get("namespace"))
        created = cluster.answer("POST", path, document)
        assert created.code in (201, 409), created.body
    if "quota_status" in head:
        quota = f"/api/v1/namespaces/{NAMESPACE}-quota/resourcequotas/resourcequota"
        cluster.update(f"{quota}/status", {**cluster.get(quota), "status": head["quota_status"]})
    return [_compared(case, _answer(cluster, case, head)) for case in cases]


def figures(comparisons: Iterable[Comparison]) -> Figures:
    found = list(comparisons)
    refused = [each for each in found if each.case["answer"]["status"] >= 300]
    return Figures(
        len(found),
        sum(each.answer["status"] == each.case["answer"]["status"] for each in found),
        len(refused),
        sum(each.difference in ("", "message") for each in refused),
        sum(not each.difference for each in refused),
    )


def _compared(case: Json, here: Json) -> Comparison:
    there = case["answer"]
    parts = {
        "status": (here["status"], here.get("reason")) == (there["status"], there.get("reason")),
        "field": _causes(here) == _causes(there),
        "message": case.get("unstable") or _words(here) == _words(there),
    }
    return Comparison(case, here, next((name for name, is_same in parts.items() if not is_same), ""))


def _causes(answer: Json) -> list[tuple[str, str]]:
    return sorted((field, reason) for field, reason, _ in answer.get("causes") or ())


def _words(answer: Json) -> str:
    """Return the first line of a message, without uids and addresses that a server chooses."""
    first = _UID.sub("<uid>", (answer.get("message") or "").split("\n")[0])
    first = re.sub(r'"10\.0\.\d+\.\d+"', '"<ip>"', first)
    return re.sub(r' in scheme "[^"]*"', "", first)


# -- requests ------------------------------------------------------------------------------------------------------------


def _collection(cluster: EmbeddedApi, kind: str, namespace: str | None) -> str:
    """Return the path of the objects of a kind, in its preferred version."""
    served = [resource for resource in cluster.catalog.all() if resource.kind == kind and resource.stored_as]
    resource = min(served, key=lambda found: (found.group != "", len(found.version), -int(found.version[1])))
    prefix = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    within = f"/namespaces/{namespace or NAMESPACE}" if resource.namespaced else ""
    return f"{prefix}{within}/{resource.plural}"


def _answer(cluster: EmbeddedApi, case: Json, head: Json) -> Json:
    query = OPTIONS if case.get("live") else f"{OPTIONS}&dryRun=All"
    if "object" in case:
        namespace = (case["object"].get("metadata") or {}).get("namespace")
        is_usable = isinstance(namespace, str) and namespace.startswith((NAMESPACE, "missing-namespace"))
        path = _collection(cluster, case["kind"], namespace if is_usable else None)
        answer = _asked(cluster, "POST", f"{path}?{query}", case["object"])
        if case.get("live") and answer["status"] < 300:
            cluster.answer("DELETE", f"{path}/{answer['object']['metadata']['name']}?gracePeriodSeconds=0")
        return answer
    metadata = head["bases"][case["base"]]["metadata"]
    path = f"{_collection(cluster, case['kind'], metadata.get('namespace'))}/{metadata['name']}"
    stored = cluster.get(path)
    changed = copy.deepcopy(stored)
    for text in case["edits"]:
        edit(changed, text)
    subresource = f"/{case['subresource']}" if "subresource" in case else ""
    answer = _asked(cluster, "PUT", f"{path}{subresource}?{query}", changed)
    if case.get("live") and answer["status"] < 300:
        cluster.update(path, {**stored, "metadata": {**stored["metadata"], "resourceVersion": ""}})
    return answer


def _asked(cluster: EmbeddedApi, method: str, url: str, document: Json) -> Json:
    found = cluster.answer(method, url, document)
    body = json.loads(found.content())
    if found.code < 300:
        return {"status": found.code, "object": body}
    causes = (body.get("details") or {}).get("causes") or ()
    return {
        "status": found.code,
        "reason": body.get("reason"),
        "message": body.get("message"),
        "causes": [[cause.get("field", ""), cause.get("reason", ""), cause.get("message", "")] for cause in causes],
    }


# -- edits ---------------------------------------------------------------------------------------------------------------


def edit(document: Json, text: str) -> None:
    """Change a document: `spec.replicas=2` sets, `spec.ports+={…}` appends, `spec.selector-` removes."""
    found = _EDIT.fullmatch(text.strip())
    assert found is not None, text
    *parents, last = _steps(found[1])
    place: Any = document
    for step, following in zip(parents, [*parents[1:], last], strict=False):
        if isinstance(step, str) and place.get(step) is None:
            place[step] = [] if isinstance(following, int) else {}
        place = place[step]
    if found[2] == "-":
        if isinstance(last, int) or last in place:
            del place[last]
    elif found[2] == "+=":
        place[last] = [*(place.get(last) or ()), _value(found[3])]
    elif isinstance(last, int) and last == len(place):
        place.append(_value(found[3]))
    else:
        place[last] = _value(found[3])


def _steps(path: str) -> Iterator[str | int]:
    for name, index, quoted in _STEP.findall(path):
        yield int(index) if index else name or quoted


def _value(text: str) -> Any:
    text = re.sub(r"%(.+?)\*(\d+)%", lambda found: found[1] * int(found[2]), text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def recorded_server(version: str = "1.36") -> EmbeddedApi:
    """Return an empty cluster of the version of the recordings."""
    return EmbeddedApi(api_server_admission=True, gates=FeatureGates(version=version))


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.validation.recorded_answers")
    parser.add_argument("--emulated-version", default="1.36")
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    for path in options.files:
        head, cases = read(path)
        found = compare(head, cases, recorded_server(options.emulated_version))
        for each in found:
            if each.difference:
                print(f"{each.difference}: {each.case['name']}")
                for title, answer in (("expected", each.case["answer"]), ("found", each.answer)):
                    print(f"    {title} {answer['status']} {answer.get('message') or ''}")
        scheduling = figures(each for each in found if each.case["kind"] in SCHEDULING_KINDS)
        print(f"{path.name}, kinds that scheduling reads: {scheduling}")
        print(f"{path.name}, all kinds: {figures(found)}")


if __name__ == "__main__":
    main(sys.argv[1:])
