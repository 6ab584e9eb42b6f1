# SPDX-License-Identifier: Apache-2.0
"""Targets of steps, objects such as `deployment/default/web` and nodes by name, pattern or label,
and the merge patches for rollouts and load changes of workloads.

`actions` applies the patches. The functions raise `InputError` for missing objects and fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from steersman import api
from steersman.api import codec, create_merge_patch, schema_of, similar, timestamps
from steersman.base import InputError
from steersman.cluster.apiserver import strategically_merged
from steersman.cluster.controllers import LOAD, POD_TEMPLATE_HASH, REVISION, controller_of, parse_curve
from steersman.cluster.store import StatusError, Store
from steersman.simulation.scenario.document import LoadChange, NodeChoice, Rollout

SHORT_NAMES: Final = {
    "deploy": "Deployment",
    "sts": "StatefulSet",
    "ds": "DaemonSet",
    "rs": "ReplicaSet",
    "rc": "ReplicationController",
    "hpa": "HorizontalPodAutoscaler",
    "cj": "CronJob",
    "po": "Pod",
    "no": "Node",
    "svc": "Service",
    "pdb": "PodDisruptionBudget",
    "pvc": "PersistentVolumeClaim",
    "pv": "PersistentVolume",
    "ns": "Namespace",
}
TARGET_HINT: Final = 'write kind/name or kind/namespace/name, such as "deployment/default/web"'


class Target(NamedTuple):
    """The object of a step."""

    kind: type[api.Object]
    #: `namespace/name`, or the name for cluster-scoped kinds.
    key: str

    @property
    def reference(self) -> str:
        """The reference for `Simulation.patch` and `delete`."""
        return f"{self.kind.KIND.lower()}/{self.key}"

    def __str__(self) -> str:
        return f"{self.kind.KIND} {self.key}"


def parse_target(text: str, path: str, kinds: Iterable[type[api.Object]] = ()) -> Target:
    """Parse a target such as `deployment/web`. Raises `InputError`, also if not one of `kinds`."""
    word, slash, name = text.partition("/")
    names = {alias.lower(): cls for cls in api.KINDS.values() for alias in (cls.KIND, cls.PLURAL)}
    names |= {short: api.KINDS[kind] for short, kind in SHORT_NAMES.items()}
    kind = names.get(word.lower())
    if not slash or not name:
        raise InputError("is not an object", field=path, value=text, hint=TARGET_HINT)
    if kind is None:
        known = sorted({cls.KIND.lower() for cls in api.KINDS.values()})
        hint = similar(word.lower(), known)
        raise InputError("is of an unknown kind", field=path, value=text, hint=hint if "mean" in hint else TARGET_HINT)
    allowed = tuple(kinds)
    if allowed and kind not in allowed:
        one_of = ", ".join(cls.KIND for cls in allowed)
        raise InputError(
            "is of a kind that this cannot be done to", field=path, value=text, hint=f"use one of {one_of}"
        )
    if name.count("/") > (1 if kind.NAMESPACED else 0):
        raise InputError("has too many parts", field=path, value=text, hint=TARGET_HINT)
    if kind.NAMESPACED and "/" not in name:
        name = f"default/{name}"
    return Target(kind, name)


def chosen_nodes(choice: NodeChoice, store: Store, path: str) -> list[str]:
    """Return the chosen nodes in the order of the cluster. Raises `InputError` for unknown names.

    Patterns and labels may match no nodes, because these may depend on the autoscaler.
    """
    nodes = store.objects(api.Node)
    chosen: set[str] = set()
    for index, text in enumerate(listed(choice)):
        found = [name for name, node in nodes.items() if _is_chosen(text, name, node)]
        if not found and not _is_open(text):
            where = f"{path}[{index}]" if isinstance(choice, list) else path
            raise InputError(
                "is not a node of the cluster", field=where, value=text, hint=similar(text, list(nodes)[:1000])
            )
        chosen.update(found)
    return [name for name in nodes if name in chosen]


def listed(choice: NodeChoice) -> Sequence[str]:
    """Return a single text or a list of texts as a list."""
    return [choice] if isinstance(choice, str) else choice


def _is_open(text: str) -> bool:
    return any(mark in text for mark in "=*?[")


def _is_chosen(text: str, name: str, node: api.Node) -> bool:
    if "=" in text:
        label, _, value = text.partition("=")
        return node.metadata.labels.get(label.strip()) == value.strip()
    return fnmatchcase(name, text.removeprefix("node/"))


# -- patches -----------------------------------------------------------------------------------------------------------


SCALABLE: Final = (api.Deployment, api.StatefulSet, api.ReplicaSet, api.ReplicationController)
ROLLABLE: Final = (api.Deployment, api.StatefulSet, api.DaemonSet)
LOADED: Final = (api.HorizontalPodAutoscaler, *SCALABLE)
RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"

Patch = dict[str, Any]


def rollout_patch(store: Store, target: Target, rollout: Rollout, path: str) -> Patch:
    """Return the patch that sets the workload's new template."""
    document = _document(store, target, path)
    before = document.get("spec", {}).get("template", {})
    return {"spec": {"template": create_merge_patch(before, _new_template(store, target, rollout, document, path))}}


def _new_template(store: Store, target: Target, rollout: Rollout, document: Patch, path: str) -> Patch:
    if rollout.undo:
        return _previous_template(store, target, path)
    if rollout.restart:
        change: Patch = {"metadata": {"annotations": {RESTARTED_AT: store.timestamp()}}}
    elif rollout.image:
        name = _container(document["spec"]["template"], rollout, target, path)
        change = {"spec": {"containers": [{"name": name, "image": rollout.image}]}}
    else:
        change = rollout.template or {}
    schema = schema_of(target.kind.API_VERSION, target.kind.KIND)
    try:
        merged = strategically_merged(document, {"spec": {"template": change}}, schema)
    except StatusError as error:
        raise InputError(error.message, field=f"{path}.template", value=rollout.template) from error
    template: Patch = merged["spec"]["template"]
    return template


def load_patch(store: Store, target: Target, load: LoadChange, path: str) -> Patch:
    """Return the patch that sets the object's load; annotated times count from its creation."""
    document = _document(store, target, path)
    created = timestamps.parse(document["metadata"]["creationTimestamp"])
    passed = max(0, round(store.clock.now() - created))
    curve = parse_curve(load.curve)
    points = zip(curve.times, curve.amounts, strict=True)
    text = ", ".join(f"{int(passed + time)}s={amount}m" for time, amount in points)
    return {"metadata": {"annotations": {f"{LOAD}-{load.metric}" if load.metric else LOAD: text}}}


def _document(store: Store, target: Target, path: str) -> dict[str, Any]:
    found = store.find(target.kind, target.key)
    if found is None:
        known = [f"{target.kind.KIND.lower()}/{key}" for key in store.objects(target.kind)]
        raise InputError(
            "does not exist", field=f"{path}.target", value=target.reference, hint=similar(target.reference, known)
        )
    return codec.to_dict(found)


def _container(template: Patch, rollout: Rollout, target: Target, path: str) -> str:
    names = [container.get("name", "") for container in template.get("spec", {}).get("containers", [])]
    wanted = rollout.container or (names[0] if names else "")
    if wanted not in names:
        hint = f"{target} has {', '.join(names) or 'none'}"
        raise InputError("is not a container of the workload", field=f"{path}.container", value=wanted, hint=hint)
    return str(wanted)


def _previous_template(store: Store, target: Target, path: str) -> Patch:
    """Return the template of the second latest ReplicaSet revision, like `kubectl rollout undo`."""
    owner = store.get(target.kind, target.key)
    sets = [rs for rs in store.objects(api.ReplicaSet).values() if _is_owned(rs, owner)]
    by_revision = sorted(sets, key=lambda rs: int(rs.metadata.annotations.get(REVISION, "0")))
    if len(by_revision) < 2:
        raise InputError("has no earlier revision", field=f"{path}.target", value=target.reference)
    template = by_revision[-2].spec.template
    metadata = dict(template.get("metadata") or {})
    labels = {name: value for name, value in (metadata.get("labels") or {}).items() if name != POD_TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _is_owned(replica_set: api.ReplicaSet, owner: api.Object) -> bool:
    reference = controller_of(replica_set)
    return reference is not None and reference.uid == owner.metadata.uid
