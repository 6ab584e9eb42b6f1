# SPDX-License-Identifier: Apache-2.0
"""Merge patches for the rollouts and load changes of steps.

`actions` applies the patches. The functions raise `InputError` for missing objects and fields.
"""

from __future__ import annotations

from typing import Any, Final

from steersman import api
from steersman.api import codec, create_merge_patch, schema_of, similar, timestamps
from steersman.base import InputError
from steersman.cluster.apiserver import strategically_merged
from steersman.cluster.controllers import LOAD, POD_TEMPLATE_HASH, REVISION, controller_of, parse_curve
from steersman.cluster.store import StatusError, Store
from steersman.simulation.scenario.document import LoadChange, Rollout
from steersman.simulation.scenario.targets import Target

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
        raise InputError("is no container of the workload", field=f"{path}.container", value=wanted, hint=hint)
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
