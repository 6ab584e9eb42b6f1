# SPDX-License-Identifier: Apache-2.0
"""Extenders of golden scenarios: the product's HTTP client with a transport that answers from a
script.

cycle ─► HttpExtender ─► ScriptedTransport ─► answer by extender, verb and pod
                                └──────────► `calls`, as the corpus records requests
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from steersman.config import SchedulerConfiguration, in_call_order
from steersman.kube.client import HttpExtender, RawObjects
from steersman.kube.http import HttpAnswer

Document = dict[str, Any]
Script = Mapping[str, Any]

_PRIORITIZE: Final = "prioritize"
_UNKNOWN_POD: Final = "uid-of-nobody"
_OK: Final = 200


class ScriptedTransport:
    """Implements `ExtenderTransport` with the answers of a scenario's `extenders`."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self._scripts = scripts
        #: Name (namespace/name) of each pod by uid.
        self.pod_names: dict[str, str] = {}
        self._calls: list[Document] = []

    def take_calls(self) -> list[Document]:
        """Return the requests since the last call; consecutive ones of `prioritize` by extender,
        because they are concurrent."""
        calls, self._calls = self._calls, []
        scored = iter(sorted((call for call in calls if _is_prioritize(call)), key=lambda call: call["extender"]))
        return [next(scored) if _is_prioritize(call) else call for call in calls]

    async def request(
        self,
        method: str,
        target: str,
        timeout: float,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes | None = None,
        longest_body: int = 0,
    ) -> HttpAnswer:
        _, extender, verb = target.split("/")
        args = msgspec.json.decode(body or b"{}")
        pod = _pod_of(args)
        self._calls.append({"extender": extender, "verb": verb, "pod": pod, **self._details(verb, args)})
        script = self._scripts.get(extender, {}).get(verb, {})
        script = script.get("pods", {}).get(pod, script)
        if "status" in script:
            return HttpAnswer(script["status"], {}, b"")
        return HttpAnswer(_OK, {}, msgspec.json.encode(self._answer(verb, script, args)))

    # -- requests --------------------------------------------------------------------------------

    def _details(self, verb: str, args: Document) -> Document:
        if verb == "bind":
            return {"uid": args["PodUID"], "node": args["Node"]}
        if verb != "preempt":
            form = "nodes" if args["NodeNames"] is None else "nodeNames"
            return {"form": form, "nodes": sorted(_node_names(args))}
        form = "victims" if args["NodeNameToMetaVictims"] is None else "metaVictims"
        candidates = [
            {
                "node": node,
                "victims": [self.pod_names[uid] for uid in _uids(victims)],
                "pdbViolations": victims["NumPDBViolations"],
            }
            for node, victims in sorted(_victims_by_node(args).items())
        ]
        return {"form": form, "candidates": candidates}

    # -- answers ---------------------------------------------------------------------------------

    def _answer(self, verb: str, script: Script, args: Document) -> object:
        if verb == "filter":
            return _filter_answer(script, args)
        if verb == _PRIORITIZE:
            names = {*_node_names(args), *script.get("add", ())}
            scores = script.get("scores", {})
            added = {name: scores.get(name, 10) for name in script.get("add", ())}
            return [{"Host": name, "Score": score} for name, score in {**scores, **added}.items() if name in names]
        if verb == "preempt":
            return {"NodeNameToMetaVictims": self._victims_answer(script, args)}
        return {"Error": script.get("error", "")}

    def _victims_answer(self, script: Script, args: Document) -> Document:
        kept_victims = script.get("victims", {})
        answer: Document = {}
        for node, victims in _victims_by_node(args).items():
            if node in script.get("drop", ()):
                continue
            wanted = kept_victims.get(node)
            uids = [uid for uid in _uids(victims) if wanted is None or self.pod_names[uid] in wanted]
            answer[node] = _meta_victims(uids, victims["NumPDBViolations"])
        for node in script.get("add", ()):
            answer.setdefault(node, _meta_victims([_UNKNOWN_POD], 0))
        return answer


def scripted_extenders(configuration: SchedulerConfiguration, transport: ScriptedTransport) -> tuple[HttpExtender, ...]:
    """Return the extenders of the configuration in call order, connected to the transport."""
    ordered = in_call_order(configuration.extenders)
    return tuple(HttpExtender(settings, RawObjects(), transport=transport) for settings in ordered)


def _filter_answer(script: Script, args: Document) -> Document:
    error = script.get("error", "")
    if error:
        return {"Error": error}
    requested = _node_names(args)
    failed, unresolvable = (_reasons(script.get(key, {}), requested) for key in ("reject", "unresolvable"))
    gone = {*failed, *unresolvable, *script.get("drop", ())}
    answer: Document = {"FailedNodes": failed, "FailedAndUnresolvableNodes": unresolvable}
    if args["NodeNames"] is not None:
        names = [name for name in requested if name not in gone]
        return {**answer, "NodeNames": [*names, *script.get("add", ())]}
    items = [node for node in args["Nodes"]["items"] if node["metadata"]["name"] not in gone]
    items += [{"metadata": {"name": name}} for name in script.get("add", ())]
    return {**answer, "Nodes": {"items": items}}


def _reasons(reasons: Mapping[str, str], nodes: Iterable[str]) -> dict[str, str]:
    return {name: reasons[name] for name in nodes if name in reasons}


def _pod_of(args: Document) -> str:
    if "Pod" not in args:
        return f"{args['PodNamespace']}/{args['PodName']}"
    metadata = args["Pod"]["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}"


def _node_names(args: Document) -> list[str]:
    names: list[str] | None = args["NodeNames"]
    return [node["metadata"]["name"] for node in args["Nodes"]["items"]] if names is None else names


def _victims_by_node(args: Document) -> Document:
    victims: Document = args["NodeNameToMetaVictims"] or args["NodeNameToVictims"] or {}
    return victims


def _uids(victims: Document) -> list[str]:
    return [pod["UID"] if "UID" in pod else pod["metadata"]["uid"] for pod in victims["Pods"]]


def _meta_victims(uids: Sequence[str], violations: int) -> Document:
    return {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": violations}


def _is_prioritize(call: Document) -> bool:
    return bool(call["verb"] == _PRIORITIZE)
