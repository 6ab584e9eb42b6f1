# SPDX-License-Identifier: Apache-2.0
"""Changes of a pod's device claims: fewer devices, another class, or no selector or constraint.

A claim of the input is changed itself, a claim from a template in its template. Claims that have
devices already are not changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.explain.fixes.changes import (
    Change,
    Document,
    InputDocuments,
    NumberedChange,
    Recreation,
    SpecPlace,
    set_field,
    set_or_remove,
)
from steersman.explain.fixes.fix import FixKind, ObjectName, object_name
from steersman.explain.fixes.pod_changes import Alternative
from steersman.simulation import Simulation

EXACT_COUNT: Final = "ExactCount"
_MAX_CLASSES: Final = 3


class DeviceClaimPlace(NamedTuple):
    """A claim's place for changes, and its spec."""

    place: SpecPlace
    spec: api.ResourceClaimSpec

    @property
    def text(self) -> str:
        kind, name = self.place.target.kind, self.place.target.name
        return f"claim {name}" if kind == api.ResourceClaim.KIND else f"claim template {name}"


def relax_device_claims(simulation: Simulation, claims: Sequence[DeviceClaimPlace]) -> Iterator[Alternative]:
    """Yield every single relaxation of a request or constraint, smallest change first."""
    for ways in (_fewer, _without_selector, _without_constraint):
        yield from (found for claim in claims for found in ways(claim))
    for claim in claims:
        yield from _with_other_class(simulation, claim)


def missing_device_classes(simulation: Simulation, claims: Sequence[DeviceClaimPlace]) -> Iterator[Change]:
    """Yield changes of requests whose class does not exist to the first existing class."""
    known = simulation.cluster.objects(api.DeviceClass)
    for claim in claims:
        for position, request in enumerate(claim.spec.devices.requests):
            if request.exactly is not None and request.exactly.device_class_name not in known:
                yield from (_with_class(claim, position, request, name) for name in sorted(known)[:1])


def _with_other_class(simulation: Simulation, claim: DeviceClaimPlace) -> Iterator[Alternative]:
    """Yield each request of the claim with another existing class."""
    known = sorted(simulation.cluster.objects(api.DeviceClass))
    for position, request in enumerate(claim.spec.devices.requests):
        if request.exactly is not None:
            others = [name for name in known if name != request.exactly.device_class_name]
            yield from ((_with_class(claim, position, request, name),) for name in others[:_MAX_CLASSES])


def device_claims(
    simulation: Simulation, pod: api.Pod, workload: ObjectName | None, given: InputDocuments
) -> Iterator[DeviceClaimPlace]:
    """Yield the pod's claims without devices whose claim or template is in the input."""
    again = Recreation(object_name(pod), workload)
    namespace = pod.metadata.namespace
    made = {status.name: status.resource_claim_name for status in pod.status.resource_claim_statuses}
    for reference in pod.spec.resource_claims:
        name = reference.resource_claim_name or made.get(reference.name) or ""
        claim = simulation.cluster.find(api.ResourceClaim, f"{namespace}/{name}")
        if claim is not None and claim.status.allocation is not None:
            continue
        target = ObjectName(api.ResourceClaim.KIND, namespace, name)
        if claim is not None and target in given:
            yield DeviceClaimPlace(SpecPlace(target), claim.spec)
            continue
        name = reference.resource_claim_template_name or ""
        template = simulation.cluster.find(api.ResourceClaimTemplate, f"{namespace}/{name}")
        target = ObjectName(api.ResourceClaimTemplate.KIND, namespace, name)
        if template is not None and target in given:
            yield DeviceClaimPlace(SpecPlace(target, ("spec",), (again,)), template.spec.spec)


def _exactly(position: int) -> tuple[str | int, ...]:
    """Return the path of a request in the spec of a claim."""
    return "devices", "requests", position, "exactly"


def _fewer(claim: DeviceClaimPlace) -> Iterator[Alternative]:
    """Yield a smaller count for each request of several devices."""
    for position, request in enumerate(claim.spec.devices.requests):
        exactly = request.exactly
        if exactly is not None and exactly.count > 1 and exactly.allocation_mode in ("", EXACT_COUNT):
            yield (_lower_count(claim, position, request, exactly.count),)


def _lower_count(claim: DeviceClaimPlace, position: int, request: api.DeviceRequest, requested: int) -> NumberedChange:
    def make(step: int) -> Change:
        count = requested - step
        summary = f"lower the count of request {request.name} in {claim.text} from {requested} to {count}"
        return claim.place.change(FixKind.DEVICE_COUNT, summary, set_field(count, *_exactly(position), "count"))

    return NumberedChange(f"{claim.text} {request.name}", FixKind.DEVICE_COUNT, 1, requested - 1, make)


def _without_selector(claim: DeviceClaimPlace) -> Iterator[Alternative]:
    """Yield each selector of a request to drop, and all of them."""
    for position, request in enumerate(claim.spec.devices.requests):
        selectors = request.exactly.selectors if request.exactly is not None else ()
        expressions = [selector.cel.expression for selector in selectors if selector.cel is not None]
        dropped = tuple(_dropped_selector(claim, position, request.name, each) for each in expressions)
        yield from ((change,) for change in dropped)
        if len(dropped) > 1:
            yield dropped


def _dropped_selector(claim: DeviceClaimPlace, position: int, request: str, expression: str) -> Change:
    def edit(spec: Document) -> None:
        found = spec["devices"]["requests"][position]["exactly"]
        left = [each for each in found["selectors"] if (each.get("cel") or {}).get("expression") != expression]
        set_or_remove(found, "selectors", left)

    summary = f"drop the selector {expression} from request {request} in {claim.text}"
    return claim.place.change(FixKind.DEVICE_SELECTOR, summary, edit)


def _without_constraint(claim: DeviceClaimPlace) -> Iterator[Alternative]:
    for index, constraint in enumerate(claim.spec.devices.constraints):
        attribute = constraint.match_attribute or constraint.distinct_attribute or ""
        yield (_dropped_constraint(claim, index, attribute),)


def _dropped_constraint(claim: DeviceClaimPlace, index: int, attribute: str) -> Change:
    def edit(spec: Document) -> None:
        constraints = spec["devices"]["constraints"]
        set_or_remove(spec["devices"], "constraints", [*constraints[:index], *constraints[index + 1 :]])

    summary = f"drop the constraint on {attribute} from {claim.text}"
    return claim.place.change(FixKind.DEVICE_CONSTRAINT, summary, edit)


def _with_class(claim: DeviceClaimPlace, position: int, request: api.DeviceRequest, name: str) -> Change:
    old = request.exactly.device_class_name if request.exactly is not None else ""
    summary = f"change the device class of request {request.name} in {claim.text} from {old} to {name}"
    return claim.place.change(FixKind.DEVICE_CLASS, summary, set_field(name, *_exactly(position), "deviceClassName"))
