# SPDX-License-Identifier: Apache-2.0
"""Changes of a pod's device claims: fewer devices, without a selector or a constraint, or of another class.

A claim that was given is changed itself; one that is made from a template is changed there. Claims that have devices already
are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from steersman import api
from steersman.fixes.changes import Change, Document, Edit, NumberedChange, Renewal, SpecPlace
from steersman.fixes.fix import FixKind, ObjectName
from steersman.fixes.input_documents import InputDocuments
from steersman.fixes.pod_changes import Alternative
from steersman.sim import Simulation

EXACT_COUNT: Final = "ExactCount"
_MOST_CLASSES: Final = 3


class DeviceClaimPlace(NamedTuple):
    """Where a claim of the pod is changed, what it asks for, and what has to be made again after a change."""

    place: SpecPlace
    spec: api.ResourceClaimSpec
    renews: tuple[Renewal, ...] = ()

    def change(self, kind: FixKind, summary: str, edit: Edit) -> Change:
        """A change of the claim's spec."""
        return self.place.change(kind, summary, edit)._replace(renews=self.renews)

    @property
    def text(self) -> str:
        kind, name = self.place.target.kind, self.place.target.name
        return f"claim {name}" if kind == api.ResourceClaim.KIND else f"claim template {name}"


def relax_device_claims(simulation: Simulation, claims: Sequence[DeviceClaimPlace]) -> Iterator[Alternative]:
    """Every single relaxation of a request or a constraint of the claims, those that change the least first."""
    for ways in (_fewer, _without_selector, _without_constraint):
        yield from (found for claim in claims for found in ways(claim))
    for claim in claims:
        yield from _with_other_class(simulation, claim)


def missing_device_classes(simulation: Simulation, claims: Sequence[DeviceClaimPlace]) -> Iterator[Change]:
    """The changes of requests whose class does not exist, each to the first class that does."""
    known = simulation.cluster.objects(api.DeviceClass)
    for claim in claims:
        for position, request in enumerate(claim.spec.devices.requests):
            if request.exactly is not None and request.exactly.device_class_name not in known:
                yield from (_with_class(claim, position, request, name) for name in sorted(known)[:1])


def _with_other_class(simulation: Simulation, claim: DeviceClaimPlace) -> Iterator[Alternative]:
    """Each request of the claim, of another class that exists."""
    known = sorted(simulation.cluster.objects(api.DeviceClass))
    for position, request in enumerate(claim.spec.devices.requests):
        if request.exactly is not None:
            others = [name for name in known if name != request.exactly.device_class_name]
            yield from ((_with_class(claim, position, request, name),) for name in others[:_MOST_CLASSES])


def device_claims(
    simulation: Simulation, pod: api.Pod, workload: ObjectName | None, given: InputDocuments
) -> Iterator[DeviceClaimPlace]:
    """The claims of the pod that have no devices yet, as far as they or their templates were given."""
    again = Renewal(ObjectName(pod.KIND, pod.metadata.namespace, pod.metadata.name), workload)
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
            yield DeviceClaimPlace(SpecPlace(target, ("spec",)), template.spec.spec, (again,))


def _request(spec: Document, position: int) -> Document:
    found: Document = spec["devices"]["requests"][position]["exactly"]
    return found


def _fewer(claim: DeviceClaimPlace) -> Iterator[Alternative]:
    """Each request for more than one device, for fewer."""
    for position, request in enumerate(claim.spec.devices.requests):
        exactly = request.exactly
        if exactly is not None and exactly.count > 1 and exactly.allocation_mode in ("", EXACT_COUNT):
            yield (_lower_count(claim, position, request, exactly.count),)


def _lower_count(claim: DeviceClaimPlace, position: int, request: api.DeviceRequest, asked: int) -> NumberedChange:
    def make(step: int) -> Change:
        count = asked - step

        def edit(spec: Document) -> None:
            _request(spec, position)["count"] = count

        summary = f"lower the count of request {request.name} in {claim.text} from {asked} to {count}"
        return claim.change(FixKind.DEVICE_COUNT, summary, edit)

    return NumberedChange(f"{claim.text} {request.name}", FixKind.DEVICE_COUNT, 1, asked - 1, make)


def _without_selector(claim: DeviceClaimPlace) -> Iterator[Alternative]:
    """Each selector of a request dropped, and all of them."""
    for position, request in enumerate(claim.spec.devices.requests):
        selectors = request.exactly.selectors if request.exactly is not None else ()
        expressions = [selector.cel.expression for selector in selectors if selector.cel is not None]
        dropped = tuple(_dropped_selector(claim, position, request.name, each) for each in expressions)
        yield from ((change,) for change in dropped)
        if len(dropped) > 1:
            yield dropped


def _dropped_selector(claim: DeviceClaimPlace, position: int, request: str, expression: str) -> Change:
    def edit(spec: Document) -> None:
        found = _request(spec, position)
        left = [each for each in found["selectors"] if (each.get("cel") or {}).get("expression") != expression]
        _put_list(found, "selectors", left)

    summary = f"drop the selector {expression} from request {request} in {claim.text}"
    return claim.change(FixKind.DEVICE_SELECTOR, summary, edit)


def _without_constraint(claim: DeviceClaimPlace) -> Iterator[Alternative]:
    for index, constraint in enumerate(claim.spec.devices.constraints):
        attribute = constraint.match_attribute or constraint.distinct_attribute or ""
        yield (_dropped_constraint(claim, index, attribute),)


def _dropped_constraint(claim: DeviceClaimPlace, index: int, attribute: str) -> Change:
    def edit(spec: Document) -> None:
        constraints = spec["devices"]["constraints"]
        _put_list(spec["devices"], "constraints", [*constraints[:index], *constraints[index + 1 :]])

    summary = f"drop the constraint on {attribute} from {claim.text}"
    return claim.change(FixKind.DEVICE_CONSTRAINT, summary, edit)


def _with_class(claim: DeviceClaimPlace, position: int, request: api.DeviceRequest, name: str) -> Change:
    def edit(spec: Document) -> None:
        _request(spec, position)["deviceClassName"] = name

    old = request.exactly.device_class_name if request.exactly is not None else ""
    summary = f"change the device class of request {request.name} in {claim.text} from {old} to {name}"
    return claim.change(FixKind.DEVICE_CLASS, summary, edit)


def _put_list(holder: Document, name: str, entries: list[Document]) -> None:
    """The list with these entries; without any there is no list."""
    if entries:
        holder[name] = entries
    else:
        holder.pop(name)
