# SPDX-License-Identifier: Apache-2.0
"""Rules of Deployments, ReplicaSets, StatefulSets, DaemonSets and ReplicationControllers.

Upstream: `apps/validation`, `core/validation`. Jobs share the rules of selectors and labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api import codec
from steersman.api.json_values import Document, elements, part
from steersman.api.meta import LabelSelector
from steersman.api.selectors import from_label_selector, from_labels
from steersman.api.validation.checks import (
    IMMUTABLE,
    Fields,
    check_fields,
    int_or_percent,
    label_selector,
    name_label,
    non_negative,
    one_of,
    optional,
    percent,
    required,
)
from steersman.api.validation.field_errors import FieldError, go_struct
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.persistent_volumes import claim_spec
from steersman.api.validation.pod_spec import pod_template, template_metadata
from steersman.api.validation.semantic_equality import is_equal
from steersman.base import InputError

_TEMPLATE: Final = "spec.template"
_ONLY_ALWAYS: Final = one_of("Always")
_STATEFUL_SET_FIELDS: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
"""Mutable fields of a StatefulSet's spec, in the order of upstream's message."""


# -- selectors and templates -----------------------------------------------------------------------


def go_selector(selector: Document | None) -> Document | None:
    """Return a LabelSelector as Go encodes it: without empty fields, in struct order."""
    if selector is None:
        return None
    expressions = [
        {"key": found.get("key") or "", "operator": found.get("operator") or ""}
        | ({"values": found["values"]} if found.get("values") else {})
        for found in elements(selector, "matchExpressions")
    ]
    shown = {"matchLabels": dict(sorted(part(selector, "matchLabels").items())), "matchExpressions": expressions}
    return {name: value for name, value in shown.items() if value}


def selector_errors(path: str, selector: Document | None, *, empty_for: str = "") -> Iterator[FieldError]:
    """Yield the errors of a required selector, which must not be empty if `empty_for` is a kind."""
    if selector is None:
        yield FieldError.required(path)
        return
    yield from label_selector(path, selector)
    if empty_for and not go_selector(selector):
        yield FieldError.invalid(path, {}, f"empty selector is invalid for {empty_for}")


def is_valid_selector(selector: Document | None) -> bool:
    return next(label_selector("", selector), None) is None


def template_label_errors(path: str, selector: Document | None, template: Document) -> Iterator[FieldError]:
    """Yield an error if a valid selector does not match the labels of the template."""
    labels = part(template, "metadata", "labels")
    try:
        is_selected = from_label_selector(None if selector is None else codec.convert(selector, LabelSelector)).matches(
            labels
        )
    except InputError:
        return
    if not is_selected:
        yield _unselected(path, template)


def _unselected(path: str, template: Document) -> FieldError:
    labels = part(template, "metadata").get("labels")
    shown = None if labels is None else dict(sorted(labels.items()))
    return FieldError.invalid(f"{path}.metadata.labels", shown, "`selector` does not match template `labels`")


def _pods_that_run_forever(template: Document, kind: str) -> Iterator[FieldError]:
    spec = part(template, "spec")
    yield from _ONLY_ALWAYS(f"{_TEMPLATE}.spec.restartPolicy", spec.get("restartPolicy") or "")
    if spec.get("activeDeadlineSeconds") is not None:
        detail = f"activeDeadlineSeconds in {kind} is not Supported"
        yield FieldError.forbidden(f"{_TEMPLATE}.spec.activeDeadlineSeconds", detail)


def _selected_template(spec: Document) -> Iterator[FieldError]:
    """Yield the errors of the template of a Deployment or ReplicaSet if its selector is valid."""
    selector, template = spec.get("selector"), part(spec, "template")
    if not is_valid_selector(selector):
        yield FieldError.invalid("spec.selector", go_selector(selector), "invalid label selector")
        return
    yield from template_label_errors(_TEMPLATE, selector, template)
    yield from pod_template(_TEMPLATE, template)
    yield from _pods_that_run_forever(template, "ReplicaSet")


def _immutable_selector(document: Document, old: Document) -> Iterator[FieldError]:
    yield from immutable_value(document, old, "selector", go_selector)


def immutable_value(
    document: Document, old: Document, name: str, show: Any = lambda value: value
) -> Iterator[FieldError]:
    """Yield an error if a field of the spec changes; `show` formats the value for the message."""
    new = part(document, "spec").get(name)
    if not is_equal(new, part(old, "spec").get(name), name):
        yield FieldError.invalid(f"spec.{name}", show(new), IMMUTABLE)


# -- rolling updates -------------------------------------------------------------------------------


def _count(value: Any) -> int:
    """Return an IntOrString as a number: 25 for 25 and "25%", 0 for other strings."""
    if isinstance(value, int):
        return value
    return 0 if percent(str(value)) else int(str(value)[:-1])


def _at_most_100_percent(path: str, value: Any) -> Iterator[FieldError]:
    if isinstance(value, str) and _count(value) > 100:
        yield FieldError.invalid(path, value, "must not be greater than 100%")


def _go_strategy(strategy: Document) -> Document:
    shown = go_struct(strategy.get("rollingUpdate"), MaxUnavailable=0, MaxSurge=0)
    return {"Type": strategy.get("type") or "", "RollingUpdate": shown}


def _rolling_bounds(path: str, rolling: Document) -> tuple[Any, Any, Iterator[FieldError]]:
    """Return `maxUnavailable`, `maxSurge` and the errors of their formats."""
    fields: Fields = {"maxUnavailable": int_or_percent, "maxSurge": int_or_percent}
    return rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0), check_fields(rolling, fields, path)


def _deployment_strategy(path: str, strategy: Document) -> Iterator[FieldError]:
    kind, rolling, place = strategy.get("type"), strategy.get("rollingUpdate"), f"{path}.rollingUpdate"
    if kind == "Recreate":
        if rolling is not None:
            yield FieldError.forbidden(place, "may not be specified when strategy `type` is 'Recreate'")
    elif kind == "RollingUpdate":
        unavailable, surge, errors = _rolling_bounds(place, rolling or {})
        yield from errors
        if not _count(unavailable) and not _count(surge):
            yield FieldError.invalid(f"{place}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
        yield from _at_most_100_percent(f"{place}.maxUnavailable", unavailable)
    else:
        yield FieldError.not_supported(path, _go_strategy(strategy), ("Recreate", "RollingUpdate"))


def _daemon_set_strategy(path: str, strategy: Document) -> Iterator[FieldError]:
    kind, place = strategy.get("type"), f"{path}.rollingUpdate"
    if kind == "RollingUpdate":
        unavailable, surge, errors = _rolling_bounds(place, part(strategy, "rollingUpdate"))
        yield from errors
        yield from _at_most_100_percent(f"{place}.maxUnavailable", unavailable)
        yield from _at_most_100_percent(f"{place}.maxSurge", surge)
        if _count(unavailable) and _count(surge):
            yield FieldError.invalid(f"{place}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
        elif not _count(unavailable) and not _count(surge):
            yield FieldError.required(f"{place}.maxUnavailable", "cannot be 0 when maxSurge is 0")
    elif kind != "OnDelete":
        yield FieldError.not_supported(path, _go_strategy(strategy), ("RollingUpdate", "OnDelete"))


def _go_partition(rolling: Document | None) -> Document | None:
    """Return a StatefulSet's rolling update as Go prints it, without the gated `maxUnavailable`."""
    return None if rolling is None else {"Partition": rolling.get("partition") or 0, "MaxUnavailable": None}


def _stateful_set_strategy(path: str, strategy: Document) -> Iterator[FieldError]:
    kind, rolling, place = strategy.get("type") or "", strategy.get("rollingUpdate"), f"{path}.rollingUpdate"
    if not kind:
        yield FieldError.required(path)
    elif kind == "OnDelete":
        if rolling is not None:
            yield FieldError.invalid(place, _go_partition(rolling), "only allowed for updateStrategy 'RollingUpdate'")
    elif kind == "RollingUpdate":
        yield from check_fields(rolling or {}, {"partition": non_negative}, place)
    else:
        shown = {"Type": kind, "RollingUpdate": _go_partition(rolling)}
        yield FieldError.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")


# -- kinds -----------------------------------------------------------------------------------------


def _deployment(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    ready, deadline = spec.get("minReadySeconds") or 0, spec.get("progressDeadlineSeconds")
    yield from check_fields(spec, {"replicas": non_negative}, "spec")
    yield from selector_errors("spec.selector", spec.get("selector"), empty_for="deployment")
    yield from _selected_template(spec)
    yield from _deployment_strategy("spec.strategy", part(spec, "strategy"))
    names = ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    yield from check_fields(spec, dict.fromkeys(names, non_negative), "spec")
    if deadline is not None and deadline <= ready:
        yield FieldError.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _replica_set(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    yield from check_fields(spec, {"replicas": non_negative, "minReadySeconds": non_negative}, "spec")
    yield from selector_errors("spec.selector", spec.get("selector"), empty_for="deployment")
    yield from _selected_template(spec)


def _replication_controller(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    selector, template = part(spec, "selector"), spec.get("template")
    yield from check_fields(spec, {"minReadySeconds": non_negative}, "spec")
    yield from required()("spec.selector", selector)
    yield from check_fields(spec, {"replicas": non_negative}, "spec")
    if template is None:
        yield FieldError.required(_TEMPLATE)
        return
    labels = part(template, "metadata", "labels")
    if not from_labels(selector).matches(labels):
        yield _unselected(_TEMPLATE, template)
    yield from pod_template(_TEMPLATE, template)
    yield from _pods_that_run_forever(template, "ReplicationController")


def _daemon_set(document: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    selector, template = spec.get("selector"), part(spec, "template")
    yield from label_selector("spec.selector", selector)
    if is_valid_selector(selector):
        yield from template_label_errors(_TEMPLATE, selector, template)
    if selector is not None and not go_selector(selector):
        yield FieldError.invalid("spec.selector", {}, "empty selector is invalid for daemonset")
    yield from pod_template(_TEMPLATE, template)
    yield from _pods_that_run_forever(template, "DaemonSet")
    yield from check_fields(spec, {"minReadySeconds": non_negative}, "spec")
    yield from _daemon_set_strategy("spec.updateStrategy", part(spec, "updateStrategy"))
    yield from check_fields(spec, {"revisionHistoryLimit": non_negative}, "spec")


def _changed_daemon_set(document: Document, old: Document) -> Iterator[FieldError]:
    yield from _immutable_selector(document, old)
    yield from _daemon_set(document)


def _stateful_set(document: Document) -> Iterator[FieldError]:
    yield from _stateful_set_spec(part(document, "spec"), is_new=True)


def _stateful_set_spec(spec: Document, *, is_new: bool, checks_template: bool = True) -> Iterator[FieldError]:
    policy, selector = spec.get("podManagementPolicy") or "", spec.get("selector")
    if not policy:
        yield FieldError.required("spec.podManagementPolicy")
    elif policy not in ("OrderedReady", "Parallel"):
        yield FieldError.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _stateful_set_strategy("spec.updateStrategy", part(spec, "updateStrategy"))
    yield from check_fields(spec, _STATEFUL_SET_BEFORE_CLAIMS, "spec")
    for index, claim in enumerate(elements(spec, "volumeClaimTemplates") if is_new else ()):
        yield from claim_spec(f"spec.volumeClaimTemplates[{index}].spec", part(claim, "spec"))
    yield from check_fields(spec, _STATEFUL_SET_NUMBERS, "spec")
    if is_new:
        yield from optional(name_label)("spec.serviceName", spec.get("serviceName"))
    yield from selector_errors("spec.selector", selector, empty_for="statefulset")
    if is_valid_selector(selector):
        template = _completed_template(spec)
        yield from template_label_errors(_TEMPLATE, selector, template)
        if checks_template:
            yield from pod_template(_TEMPLATE, template)
        yield from template_metadata(_TEMPLATE, template)
    else:
        yield FieldError.invalid("spec.selector", go_selector(selector), "")
    yield from _pods_that_run_forever(part(spec, "template"), "StatefulSet")


_RETENTION: Final = one_of("Retain", "Delete")
_STATEFUL_SET_BEFORE_CLAIMS: Final[Fields] = {
    f"persistentVolumeClaimRetentionPolicy.{name}": _RETENTION for name in ("whenDeleted", "whenScaled")
}
_STATEFUL_SET_NUMBERS: Final[Fields] = dict.fromkeys(("replicas", "minReadySeconds", "ordinals.start"), non_negative)


def _completed_template(spec: Document) -> Document:
    """Return the template with volumes of claim templates, without hostname and subdomain."""
    template = part(spec, "template")
    claims = {
        name: {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in (part(claim, "metadata").get("name") or "" for claim in elements(spec, "volumeClaimTemplates"))
    }
    pod = part(template, "spec")
    own = [volume for volume in elements(pod, "volumes") if volume.get("name") not in claims]
    return {**template, "spec": {**pod, "hostname": "", "subdomain": "", "volumes": [*claims.values(), *own]}}


def _changed_stateful_set(document: Document, old: Document) -> Iterator[FieldError]:
    new_spec, old_spec = part(document, "spec"), part(old, "spec")
    had_errors = next(_stateful_set_spec(old_spec, is_new=False), None) is not None
    yield from _stateful_set_spec(new_spec, is_new=False, checks_template=not had_errors)
    kept = {name: old_spec.get(name) for name in _STATEFUL_SET_FIELDS}
    if not is_equal({**new_spec, **kept}, old_spec):
        *names, last = (f"'{name}'" for name in _STATEFUL_SET_FIELDS)
        allowed = f"{', '.join(names)} and {last}"
        detail = f"updates to statefulset spec for fields other than {allowed} are forbidden"
        yield FieldError.forbidden("spec", detail)


RULES: Final[Mapping[tuple[str, str], KindRules]] = {
    ("", "ReplicationController"): KindRules(_replication_controller),
    ("apps", "Deployment"): KindRules(_deployment, _immutable_selector),
    ("apps", "ReplicaSet"): KindRules(_replica_set, _immutable_selector),
    ("apps", "DaemonSet"): KindRules(_daemon_set, _changed_daemon_set, has_own_update=True),
    ("apps", "StatefulSet"): KindRules(_stateful_set, _changed_stateful_set, has_own_update=True),
}
