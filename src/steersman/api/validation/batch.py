# SPDX-License-Identifier: Apache-2.0
"""Rules of Jobs and CronJobs (`batch/validation`), including failure and success policies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from steersman.api.cron_schedule import is_known_zone, parse_schedule
from steersman.api.json_values import Document, elements, part
from steersman.api.validation.checks import at_most, at_most_items, byte_length, dns1123_label, non_negative, required
from steersman.api.validation.field_errors import FieldError, go_struct
from steersman.api.validation.kind_rules import KindRules
from steersman.api.validation.pod_spec import pod_template
from steersman.api.validation.rule_table import Rules
from steersman.api.validation.semantic_equality import is_equal
from steersman.api.validation.workloads import (
    go_selector,
    immutable_value,
    is_valid_selector,
    selector_errors,
    template_label_errors,
)
from steersman.base import InputError

_MAX_INDEXES: Final = 100_000
_MAX_RULES: Final = 20
_MAX_EXIT_CODES: Final = 255
_MAX_CRON_JOB_NAME: Final = 52
_TIME_ZONE_PART: Final = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


def _invalid_without_value(path: str, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", path, f"Invalid value: {detail}")


# -- the spec of a Job -----------------------------------------------------------------------------


def _job_spec(path: str, spec: Document) -> Iterator[FieldError]:
    """Yield the errors of a Job spec except those of its selector."""
    yield from _rules("job_spec", path, spec)
    if spec.get("podFailurePolicy") is not None:
        yield from _failure_policy(f"{path}.podFailurePolicy", spec)
    if spec.get("successPolicy") is not None:
        if spec.get("completionMode") == "Indexed":
            yield from _success_policy(f"{path}.successPolicy", spec)
        else:
            yield FieldError.invalid(
                f"{path}.successPolicy", _go_success_policy(spec["successPolicy"]), "requires indexed completion mode"
            )
    yield from _rules("job_replacement_policy", path, spec)
    yield from pod_template(f"{path}.template", part(spec, "template"))
    yield from _rules("job_restart_policy", path, spec)


def _indexed(path: str, spec: Document) -> Iterator[FieldError]:
    completions, failures = spec.get("completions"), spec.get("maxFailedIndexes")
    yield from _rules("indexed_job", path, spec)
    if completions is not None and failures is not None and failures > completions:
        yield FieldError.invalid(f"{path}.maxFailedIndexes", failures, "must be less than or equal to completions")
    if failures is not None:
        yield from at_most(_MAX_INDEXES)(f"{path}.maxFailedIndexes", failures)
    if (completions or 0) > _MAX_INDEXES and spec.get("backoffLimitPerIndex") is not None:
        yield from _rules("large_indexed_job", path, spec)


# -- failure and success policies ------------------------------------------------------------------


def _failure_policy(path: str, spec: Document) -> Iterator[FieldError]:
    rules = elements(spec, "podFailurePolicy", "rules")
    pod = part(spec, "template", "spec")
    containers = {
        container.get("name") for name in ("containers", "initContainers") for container in elements(pod, name)
    }
    yield from at_most_items(_MAX_RULES)(f"{path}.rules", rules)
    for index, rule in enumerate(rules):
        yield from _failure_rule(f"{path}.rules[{index}]", rule, spec, containers)


def _failure_rule(path: str, rule: Document, spec: Document, containers: set[Any]) -> Iterator[FieldError]:
    codes, conditions = rule.get("onExitCodes"), elements(rule, "onPodConditions")
    if rule.get("action") == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        yield FieldError.invalid(f"{path}.action", "FailIndex", "requires the backoffLimitPerIndex to be set")
    yield from _rules("failure_action", path, rule)
    if codes is not None:
        yield from _exit_codes(f"{path}.onExitCodes", codes, containers)
    yield from _rules("failure_conditions", path, rule)
    if codes is not None and conditions:
        yield _invalid_without_value(path, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not conditions:
        yield _invalid_without_value(path, "specifying one of OnExitCodes and OnPodConditions is required")


def _exit_codes(path: str, codes: Document, containers: set[Any]) -> Iterator[FieldError]:
    values, place, name = elements(codes, "values"), f"{path}.values", codes.get("containerName")
    yield from _rules("exit_codes", path, codes)
    if name is not None and name not in containers:
        detail = "must be one of the container or initContainer names in the pod template"
        yield FieldError.invalid(f"{path}.containerName", name, detail)
    if not values:
        yield FieldError.invalid(place, codes.get("values"), "at least one value is required")
    yield from at_most_items(_MAX_EXIT_CODES)(place, values)
    seen: set[int] = set()
    for index, value in enumerate(values):
        if codes.get("operator") == "In" and value == 0:
            yield FieldError.invalid(f"{place}[{index}]", value, "must not be 0 for the In operator")
        if value in seen:
            yield FieldError.duplicate(f"{place}[{index}]", value)
        seen.add(value)
    if values != sorted(values):
        yield FieldError.invalid(place, values, "must be ordered")


def _success_policy(path: str, spec: Document) -> Iterator[FieldError]:
    rules = elements(spec, "successPolicy", "rules")
    yield from _rules("success_policy", path, spec["successPolicy"])
    for index, rule in enumerate(rules):
        yield from _success_rule(f"{path}.rules[{index}]", rule, spec.get("completions") or 0)


def _success_rule(path: str, rule: Document, completions: int) -> Iterator[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    yield from _rules("success_rule", path, rule)
    total = 0
    if indexes is not None:
        try:
            total = _count_indexes(indexes, completions)
        except InputError as error:
            detail = f"error parsing succeededIndexes: {error.message}"
            yield FieldError.invalid(f"{path}.succeededIndexes", indexes, detail)
    if count is None:
        return
    place = f"{path}.succeededCount"
    yield from non_negative(place, count)
    if count > completions:
        detail = f"must be less than or equal to {completions} (the number of specified completions)"
        yield FieldError.invalid(place, count, detail)
    if indexes is not None and count > total:
        where = "(the number of indexes in the specified succeededIndexes field)"
        yield FieldError.invalid(place, count, f"must be less than or equal to {total} {where}")


def _count_indexes(text: str, completions: int) -> int:
    """Return the number of indexes in `1,3-5`. Raise `InputError` with upstream's message."""
    total, last = 0, None
    for interval in text.split(",") if text else ():
        limits = interval.split("-")
        if len(limits) > 2:
            raise InputError(
                f'the fragment "{interval}" violates the requirement that an index interval can have at most two parts '
                "separated by '-'"
            )
        first, end = _index(limits[0], completions), _index(limits[-1], completions)
        if len(limits) > 1 and first >= end:
            raise InputError(f"non-increasing order, previous: {first}, current: {end}")
        if last is not None and last >= first:
            raise InputError(f"non-increasing order, previous: {last}, current: {first}")
        total, last = total + end - first + 1, end
    return total


def _index(text: str, completions: int) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise InputError(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise InputError(f'too large index: "{text}"')
    return int(text)


def _go_success_policy(policy: Document) -> Document:
    rules = [go_struct(rule, SucceededIndexes=None, SucceededCount=None) for rule in elements(policy, "rules")]
    return {"Rules": rules or policy.get("rules")}


def _go_failure_policy(policy: Document | None) -> Document | None:
    rules = [
        {
            "Action": rule.get("action") or "",
            "OnExitCodes": go_struct(rule.get("onExitCodes"), ContainerName=None, Operator="", Values=None),
            "OnPodConditions": [go_struct(found, Type="", Status="") for found in elements(rule, "onPodConditions")]
            or None,
        }
        for rule in elements(policy or {}, "rules")
    ]
    return None if policy is None else {"Rules": rules or policy.get("rules")}


# -- Jobs ------------------------------------------------------------------------------------------


def _job(document: Document) -> Iterator[FieldError]:
    metadata, spec = part(document, "metadata"), part(document, "spec")
    is_generated = not spec.get("manualSelector")
    if is_generated and spec.get("selector") is not None:
        yield from _generated_labels(metadata, spec)
    yield from _selected_job_spec(metadata, spec)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        name = metadata.get("name") or ""
        if dns1123_label(host := f"{name}-{completions - 1}"):
            detail = f"will not able to create pod with invalid DNS label: {host}"
            yield FieldError.invalid("metadata.name", name, detail)


def _selected_job_spec(metadata: Document, spec: Document) -> Iterator[FieldError]:
    """Yield the errors of a Job spec. Jobs in files have no uid and no generated selector yet."""
    yield from _job_spec("spec", spec)
    selector = spec.get("selector")
    if selector is None and not spec.get("manualSelector") and not metadata.get("uid"):
        return
    yield from selector_errors("spec.selector", selector)
    if is_valid_selector(selector):
        yield from template_label_errors("spec.template", selector, part(spec, "template"))


def _generated_labels(metadata: Document, spec: Document) -> Iterator[FieldError]:
    """Yield an error for each label and selector that differs from the generated one."""
    uid, name = metadata.get("uid") or "", metadata.get("name") or ""
    labels = part(spec, "template", "metadata", "labels")
    expected = {"controller-uid": uid, "job-name": name}
    expected |= {f"batch.kubernetes.io/{label}": value for label, value in expected.items()}
    if not uid:
        yield FieldError.required("metadata.uid")
    for label, value in expected.items():
        path = f"spec.template.metadata.labels[{label}]"
        if label not in labels:
            yield FieldError.required(path, f"must be '{value}'")
        elif labels[label] != value:
            yield FieldError.invalid(path, dict(sorted(labels.items())), f"must be '{value}'")
    if any(template_label_errors("", spec["selector"], {"metadata": {"labels": expected}})):
        yield FieldError.invalid("spec.selector", go_selector(spec["selector"]), "`selector` not auto-generated")


def _changed_job(document: Document, old: Document) -> Iterator[FieldError]:
    """Yield the errors of an updated Job, those of its spec twice, as upstream does."""
    yield from _job(document)
    yield from _selected_job_spec(part(document, "metadata"), part(document, "spec"))
    yield from _changed_completions(document, old)
    yield from immutable_value(document, old, "selector", go_selector)
    yield from _changed_template(document, old)
    yield from immutable_value(document, old, "completionMode")
    yield from immutable_value(document, old, "podFailurePolicy", _go_failure_policy)
    yield from immutable_value(document, old, "backoffLimitPerIndex")
    yield from immutable_value(document, old, "managedBy")
    yield from immutable_value(document, old, "successPolicy", _go_success_policy)


def _changed_completions(document: Document, old: Document) -> Iterator[FieldError]:
    spec = part(document, "spec")
    if spec.get("completionMode") != "Indexed":
        yield from immutable_value(document, old, "completions")
        return
    completions = spec.get("completions")
    is_changed = completions is not None and completions != part(old, "spec").get("completions")
    if is_changed and completions != spec.get("parallelism"):
        yield FieldError.invalid(
            "spec.completions", completions, "can only be modified in tandem with spec.parallelism"
        )


def _changed_template(document: Document, old: Document) -> Iterator[FieldError]:
    """Yield an error for a template change. A suspended, inactive Job may change some fields."""
    new, before = part(document, "spec", "template"), part(old, "spec", "template")
    spec, status = part(old, "spec"), part(old, "status")
    is_suspended = any(
        condition.get("type") == "Suspended" and condition.get("status") == "True"
        for condition in elements(status, "conditions")
    )
    is_open = spec.get("suspend") and not status.get("active") and (not status.get("startTime") or is_suspended)
    if not is_open:
        if not is_equal(new, before):
            yield FieldError.invalid("spec.template", new, "field is immutable")
    elif not is_equal(part(new, "spec"), _with_open_fields(part(before, "spec"), part(new, "spec"))):
        yield FieldError.invalid("spec.template.spec", part(new, "spec"), "field is immutable")


def _with_open_fields(old: Document, new: Document) -> Document:
    """Return the old pod spec with new values of the fields that a suspended Job may change."""
    changed = {**old, **{name: new.get(name) for name in ("nodeSelector", "tolerations", "schedulingGates")}}
    affinity = {**part(old, "affinity"), "nodeAffinity": part(new, "affinity").get("nodeAffinity")}
    changed["affinity"] = {name: value for name, value in affinity.items() if value is not None}
    for name in ("containers", "initContainers"):
        containers, others = elements(old, name), elements(new, name)
        if len(containers) == len(others):
            changed[name] = [
                {**container, "resources": other.get("resources")}
                if container.get("name") == other.get("name")
                else container
                for container, other in zip(containers, others, strict=True)
            ]
    return changed


# -- CronJobs --------------------------------------------------------------------------------------


def _cron_job(document: Document) -> Iterator[FieldError]:
    yield from _cron_job_spec(part(document, "spec"), None)
    name = part(document, "metadata").get("name") or ""
    if byte_length(name) > _MAX_CRON_JOB_NAME:
        yield FieldError.invalid("metadata.name", name, f"must be no more than {_MAX_CRON_JOB_NAME} characters")


def _changed_cron_job(document: Document, old: Document) -> Iterator[FieldError]:
    yield from _cron_job_spec(part(document, "spec"), part(old, "spec"))


def _cron_job_spec(spec: Document, old: Document | None) -> Iterator[FieldError]:
    zone = spec.get("timeZone")
    yield from required(lambda path, text: _schedule(path, text, zone, old))("spec.schedule", spec.get("schedule"))
    yield from _rules("cron_job_deadline", "spec", spec)
    if zone is not None and (old is None or old.get("timeZone") != zone):
        yield from _time_zone("spec.timeZone", zone)
    yield from _rules("cron_job_spec", "spec", spec)


def _generated_selector(path: str, selector: Document) -> Iterator[FieldError]:
    yield FieldError.invalid(path, go_selector(selector), "`selector` will be auto-generated")


def _manual_selector(path: str, value: bool) -> Iterator[FieldError]:
    if value:
        yield FieldError.not_supported(path, True, ("nil", "false"))


def _schedule(path: str, text: str, zone: str | None, old: Document | None) -> Iterator[FieldError]:
    try:
        parse_schedule(text)
    except InputError as error:
        yield FieldError.invalid(path, text, error.message)
    if "TZ" not in text:
        return
    if old is None or "TZ" not in str(old.get("schedule")):
        yield FieldError.invalid(path, text, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    elif zone is not None:
        yield FieldError.invalid(path, text, "cannot use both timeZone field and TZ or CRON_TZ in schedule")


def _time_zone(path: str, name: str) -> Iterator[FieldError]:
    if not name:
        yield FieldError.invalid(path, name, "timeZone must be nil or non-empty string")
        return
    if any(not _TIME_ZONE_PART.fullmatch(step) or step in (".", "..") or step[0] == "-" for step in name.split("/")):
        yield FieldError.invalid(path, name, f"unknown time zone {name}")
        return
    if name.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield FieldError.invalid(path, name, detail)
    if name != "Local" and not is_known_zone(name):
        yield FieldError.invalid(path, name, f"unknown time zone {name}")


_rules: Final = Rules(globals())
RULES: Final[Mapping[tuple[str, str], KindRules]] = {
    ("batch", "Job"): KindRules(_job, _changed_job, has_own_update=True),
    ("batch", "CronJob"): KindRules(_cron_job, _changed_cron_job, has_own_update=True),
}
