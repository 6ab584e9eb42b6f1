# SPDX-License-Identifier: Apache-2.0
"""ValidatingAdmissionPolicies: CEL expressions, evaluated for each matching binding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from steersman import api
from steersman.api import LabelSelector, codec, from_label_selector
from steersman.api.cel import CelError, evaluate_expression
from steersman.base import InputError
from steersman.cluster.apiserver.admission_requests import AdmissionRequest, unmet_conditions
from steersman.cluster.apiserver.catalog import Catalog
from steersman.cluster.apiserver.statuses import RequestRefused
from steersman.cluster.store import Document, Store

API_VERSION: Final = "admissionregistration.k8s.io/v1"
_CODES: Final = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413}
_MAX_MESSAGE: Final = 5 * 1024
_NO_PARAMS: Final = (
    "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
)


class _Denial(NamedTuple):
    message: str
    reason: str = "Invalid"


class AdmissionPolicies:
    """ValidatingAdmissionPolicies and their bindings in a store."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._policies = stored_kind(catalog, "ValidatingAdmissionPolicy")
        self._bindings = stored_kind(catalog, "ValidatingAdmissionPolicyBinding")

    def check(self, request: AdmissionRequest, warnings: list[str]) -> None:
        """Raise `RequestRefused` if a `Deny` binding rejects the write; add warnings for `Warn`."""
        for name, policy in sorted(self._store.documents(self._policies).items()):
            spec = policy.get("spec") or {}
            if not request.is_selected(spec.get("matchConstraints") or {}, "resourceRules"):
                continue
            for bound, binding in sorted(self._store.documents(self._bindings).items()):
                about = binding.get("spec") or {}
                chosen = about.get("matchResources") or {}
                if about.get("policyName") == name and request.is_selected(chosen, "resourceRules", is_optional=True):
                    for denial in self._denials(spec, about, request):
                        self._act(request, name, bound, about, denial, warnings)

    def _act(
        self, request: AdmissionRequest, name: str, bound: str, binding: Document, denial: _Denial, warnings: list[str]
    ) -> None:
        actions, where = (
            binding.get("validationActions") or (),
            f"ValidatingAdmissionPolicy '{name}' with binding '{bound}'",
        )
        if "Warn" in actions:
            warnings.append(f"Validation failed for {where}: {denial.message}")
        if "Deny" not in actions:
            return
        why, resource = f"{where} denied request: {denial.message}", request.resource
        subject = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        group = {"group": resource.group} if resource.group else {}
        details = {
            "name": request.metadata.get("name", ""),
            **group,
            "kind": resource.plural,
            "causes": [{"message": why}],
        }
        text = f'{subject} "{request.metadata.get("name", "")}" is forbidden: {why}'
        raise RequestRefused(_CODES.get(denial.reason, 422), denial.reason, text, details)

    def _denials(self, policy: Document, binding: Document, request: AdmissionRequest) -> Iterator[_Denial]:
        is_strict = policy.get("failurePolicy", "Fail") == "Fail"
        found = self._params(policy, binding, request)
        if found is None:
            yield from [_Denial(_NO_PARAMS)] if is_strict else []
            return
        for params in found:
            variables = request.variables(params)
            try:
                if any(True for _ in unmet_conditions(policy.get("matchConditions") or (), variables)):
                    continue
            except CelError as error:
                yield from [_Denial(str(error))] if is_strict else []
                continue
            _define(policy.get("variables") or (), variables)
            for validation in policy.get("validations") or ():
                yield from _denial(validation, variables, is_strict=is_strict)

    def _params(self, policy: Document, binding: Document, request: AdmissionRequest) -> list[Document | None] | None:
        """Return the parameter objects to evaluate with; None if a required one does not exist."""
        kind, chosen = policy.get("paramKind"), binding.get("paramRef")
        if not kind or not chosen:
            return [None]
        resource = self._catalog.of_kind(kind.get("apiVersion", ""), kind.get("kind", ""))
        stored = None if resource is None else resource.stored_as
        if resource is None or stored is None:
            return None
        namespace = chosen.get("namespace") or request.metadata.get("namespace", "")
        documents = self._store.documents(stored).values()
        place = namespace if resource.namespaced else ""
        found = [one for one in documents if one["metadata"].get("namespace", "") == place and _is_chosen(one, chosen)]
        missing: list[Document | None] | None = None if chosen.get("parameterNotFoundAction") == "Deny" else []
        return list(found) or missing


def _is_chosen(document: Document, chosen: Mapping[str, Any]) -> bool:
    if chosen.get("name"):
        return bool(document["metadata"]["name"] == chosen["name"])
    try:
        selector = from_label_selector(codec.convert(chosen.get("selector") or {}, LabelSelector))
    except InputError:
        return False
    return selector.matches(document["metadata"].get("labels") or {})


def _define(definitions: Any, variables: dict[str, Any]) -> None:
    """Evaluate `variables` in order. Failed variables are undefined, so their users fail."""
    for one in definitions:
        try:
            variables["variables"][one["name"]] = evaluate_expression(one["expression"], variables)
        except CelError:
            continue


def _denial(validation: Mapping[str, Any], variables: Mapping[str, Any], *, is_strict: bool) -> Iterator[_Denial]:
    expression = validation["expression"]
    try:
        if evaluate_expression(expression, variables) is True:
            return
    except CelError as error:
        if is_strict:
            yield _Denial(f"expression '{expression}' resulted in error: {error}")
        return
    text = _message(validation, variables) or str(validation.get("message") or "").strip()
    yield _Denial(text or f"failed expression: {expression.strip()}", validation.get("reason") or "Invalid")


def _message(validation: Mapping[str, Any], variables: Mapping[str, Any]) -> str:
    try:
        text = evaluate_expression(validation["messageExpression"], variables)
    except (KeyError, CelError):
        return ""
    text = text.strip() if isinstance(text, str) else ""
    return "" if "\n" in text or len(text.encode()) > _MAX_MESSAGE else text


def stored_kind(catalog: Catalog, kind: str) -> type[api.Object]:
    """Return the class under which the store holds objects of an admission kind."""
    resource = catalog.of_kind(API_VERSION, kind)
    assert resource is not None, f"{kind} is built in"
    assert resource.stored_as is not None, f"{kind} is stored"
    return resource.stored_as
