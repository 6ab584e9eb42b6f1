# SPDX-License-Identifier: Apache-2.0
"""Changes of a pod's spec that answer a plugin's objection to a node: tolerations, selectors,
affinity, spreading, gates.

Each function yields alternatives; an alternative is a tuple of changes that belong together, such
as tolerations of all taints of one node. Trials find out whether one of them can be left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from steersman import api
from steersman.api import NO_EXECUTE, NO_SCHEDULE, lazy, tolerates
from steersman.explain.fixes.changes import (
    AnyChange,
    Change,
    Document,
    NumberedChange,
    SpecPlace,
    remove_field,
    set_field,
)
from steersman.explain.fixes.fix import FixKind
from steersman.scheduler.diagnosis import taint_text, term_text

Alternative: TypeAlias = tuple[AnyChange, ...]

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
_REJECTING: Final = (NO_SCHEDULE, NO_EXECUTE)
_MAX_SKEW: Final = 1000
_MAX_GATES: Final = 8
"""Maximum number of scheduling gates that are named in a sentence."""
_GATE_OWNERS: Final = {
    "grove.io": "Grove",
    "kueue.x-k8s.io": "Kueue",
    "multiarch.openshift.io": "the Multiarch Tuning Operator",
}


def untolerated(spec: api.PodSpec, node: api.Node) -> list[api.Taint]:
    """Return the taints of the node that the pod does not tolerate."""
    return [
        taint
        for taint in node.spec.taints
        if taint.effect in _REJECTING and not any(tolerates(toleration, taint) for toleration in spec.tolerations)
    ]


def tolerate(place: SpecPlace, spec: api.PodSpec, node: api.Node) -> Iterator[Alternative]:
    """Yield tolerations of exactly the taints of one node."""
    missing = untolerated(spec, node)
    if missing:
        yield tuple(_toleration(place, taint) for taint in missing)


def _toleration(place: SpecPlace, taint: api.Taint) -> Change:
    equal = {"operator": "Equal", "value": taint.value} if taint.value else {"operator": "Exists"}
    toleration = {"key": taint.key, **equal, "effect": taint.effect}

    def edit(spec: Document) -> None:
        spec["tolerations"] = [*spec.get("tolerations", ()), toleration]

    return place.change(FixKind.TOLERATION, f"tolerate the taint {taint_text(taint)}", edit)


# -- node selector and node affinity -----------------------------------------------------------------------------------


def drop_node_selection(place: SpecPlace, spec: api.PodSpec, node: api.Node) -> Iterator[Alternative]:
    """Yield the removal of what excludes the node: keys of the selector, and expressions of a term
    or the term."""
    keys = [key for key, value in spec.node_selector.items() if node.metadata.labels.get(key) != value]
    selector = tuple(_dropped_key(place, key, spec.node_selector[key]) for key in keys)
    terms = required_node_terms(spec)
    if not terms or any(meets(term, node) for term in terms):
        if selector:
            yield selector
        return
    for position, term in enumerate(terms):
        unmet = [each for each in term.match_expressions if not meets(_term_of(each), node)]
        relaxed = [_relaxed_expression(place, position, each, node) for each in unmet]
        if unmet and None not in relaxed and not term.match_fields:
            yield (*selector, *(change for change in relaxed if change is not None))
        if unmet and len(unmet) < len(term.match_expressions) and not term.match_fields:
            yield (*selector, *(_dropped_expression(place, position, each) for each in unmet))
    yield (*selector, _dropped_node_affinity(place, terms))


def required_node_terms(spec: api.PodSpec) -> tuple[api.NodeSelectorTerm, ...]:
    """Return the terms of the required node affinity; a node has to meet one."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return () if required is None else required.node_selector_terms


def meets(term: api.NodeSelectorTerm, node: api.Node) -> bool:
    """Return whether the node meets one term of a node affinity."""
    return lazy(api.NodeSelector(node_selector_terms=(term,))).matches(node.metadata.labels, node.metadata.name)


def _term_of(expression: api.NodeSelectorRequirement) -> api.NodeSelectorTerm:
    return api.NodeSelectorTerm(match_expressions=(expression,))


def _dropped_key(place: SpecPlace, key: str, value: str) -> Change:
    summary = f"drop {key}={value} from the node selector"
    return place.change(FixKind.NODE_SELECTOR, summary, remove_field("nodeSelector", key))


def _relaxed_expression(
    place: SpecPlace, term: int, unmet: api.NodeSelectorRequirement, node: api.Node
) -> AnyChange | None:
    """Return the change of the expression by one value, or to the nearest bound, that the node
    meets; None if there is none."""
    value = node.metadata.labels.get(unmet.key, "")
    match unmet.operator:
        case "In" if value:
            return _with_values(place, term, unmet, [*unmet.values, value])
        case "NotIn" if len(unmet.values) > 1:
            return _with_values(place, term, unmet, [each for each in unmet.values if each != value])
        case "Gt" | "Lt" if _is_integer(value) and _is_integer(unmet.values[0]):
            return _with_bound(place, term, unmet, int(value)) if unmet.operator == "Lt" or int(value) else None
        case _:
            return None


def _with_bound(place: SpecPlace, term: int, unmet: api.NodeSelectorRequirement, value: int) -> NumberedChange:
    """Return the bound moved far enough for the value; bounds are never negative."""
    bound, sign = int(unmet.values[0]), -1 if unmet.operator == "Gt" else 1
    steps = abs(value + sign - bound)

    def make(step: int) -> Change:
        return _with_values(place, term, unmet, [str(bound + sign * step)])

    key = f"{FixKind.NODE_AFFINITY_VALUES} {term} {unmet.key} {steps}"
    return NumberedChange(key, FixKind.NODE_AFFINITY_VALUES, steps, steps, make)


def _with_values(place: SpecPlace, term: int, unmet: api.NodeSelectorRequirement, values: list[str]) -> Change:
    def edit(spec: Document) -> None:
        for each in spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"][term]["matchExpressions"]:
            if _is_written(each, unmet):
                each["values"] = values

    old = term_text(_term_of(unmet))
    summary = f"relax {old} of the required node affinity to {unmet.key} {unmet.operator} {', '.join(values)}"
    return place.change(FixKind.NODE_AFFINITY_VALUES, summary, edit)


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isdigit()


def _dropped_expression(place: SpecPlace, term: int, unmet: api.NodeSelectorRequirement) -> Change:
    def edit(spec: Document) -> None:
        terms = spec["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
        left = [each for each in terms[term]["matchExpressions"] if not _is_written(each, unmet)]
        terms[term]["matchExpressions"] = left

    text = term_text(_term_of(unmet))
    return place.change(FixKind.NODE_AFFINITY, f"drop {text} from the required node affinity", edit)


def _dropped_node_affinity(place: SpecPlace, terms: tuple[api.NodeSelectorTerm, ...]) -> Change:
    summary = f"drop the required node affinity ({' or '.join(map(term_text, terms))})"
    return place.change(FixKind.NODE_AFFINITY, summary, remove_field("affinity", "nodeAffinity", REQUIRED))


# -- pods and their domains --------------------------------------------------------------------------------------------


def drop_pod_affinity(place: SpecPlace, spec: api.PodSpec) -> Iterator[Alternative]:
    """Yield the removal of each required term about other pods, then of all of them."""
    affinity = spec.affinity or api.Affinity()
    kinds = (
        (FixKind.POD_AFFINITY, "podAffinity", affinity.pod_affinity),
        (FixKind.POD_ANTI_AFFINITY, "podAntiAffinity", affinity.pod_anti_affinity),
    )
    dropped = [
        _dropped_term(place, kind, name, position, term)
        for kind, name, terms in kinds
        if terms is not None
        for position, term in enumerate(terms.required_during_scheduling_ignored_during_execution)
    ]
    yield from ((each,) for each in dropped)
    if len(dropped) > 1:
        yield tuple(dropped)


def _dropped_term(place: SpecPlace, kind: FixKind, name: str, position: int, term: api.PodAffinityTerm) -> Change:
    def edit(spec: Document) -> None:
        terms = spec["affinity"][name][REQUIRED]
        same = [index for index, each in enumerate(terms) if _is_written_term(each, term)]
        dropped = position if position in same else same[0]
        left = [each for index, each in enumerate(terms) if index != dropped]
        if left:
            spec["affinity"][name][REQUIRED] = left
        else:
            remove_field("affinity", name, REQUIRED)(spec)

    what = "affinity" if kind is FixKind.POD_AFFINITY else "anti-affinity"
    wanted = _selector_text(term.label_selector)
    summary = f"drop the required pod {what} to {wanted} per {term.topology_key} (term {position + 1})"
    return place.change(kind, summary, edit)


def relax_spread(place: SpecPlace, spec: api.PodSpec) -> Iterator[Alternative]:
    """Yield each hard constraint with a larger `maxSkew`, or as ScheduleAnyway."""
    for position, constraint in enumerate(spec.topology_spread_constraints):
        if constraint.when_unsatisfiable in (DO_NOT_SCHEDULE, ""):
            yield (_more_skew(place, position, constraint),)
            yield (_soft_spread(place, position, constraint),)


def _more_skew(place: SpecPlace, position: int, constraint: api.TopologySpreadConstraint) -> NumberedChange:
    def make(step: int) -> Change:
        skew = constraint.max_skew + step

        def edit(spec: Document) -> None:
            _constraint(spec, position, constraint)["maxSkew"] = skew

        summary = f"raise maxSkew of {_constraint_text(constraint, position)} from {constraint.max_skew} to {skew}"
        return place.change(FixKind.MAX_SKEW, summary, edit)

    key = f"{FixKind.MAX_SKEW} {position}"
    return NumberedChange(key, FixKind.MAX_SKEW, 1, max(1, _MAX_SKEW - constraint.max_skew), make)


def _soft_spread(place: SpecPlace, position: int, constraint: api.TopologySpreadConstraint) -> Change:
    def edit(spec: Document) -> None:
        found = _constraint(spec, position, constraint)
        found["whenUnsatisfiable"] = SCHEDULE_ANYWAY
        found.pop("minDomains", None)  # is for DoNotSchedule

    summary = f"set whenUnsatisfiable of {_constraint_text(constraint, position)} to {SCHEDULE_ANYWAY}"
    return place.change(FixKind.SCHEDULE_ANYWAY, summary, edit)


def _constraint(spec: Document, position: int, constraint: api.TopologySpreadConstraint) -> Document:
    """Return the constraint in the spec, for editing; an API server allows one per topology and
    effect."""
    wanted = (constraint.topology_key, constraint.when_unsatisfiable or DO_NOT_SCHEDULE)
    written: list[Document] = spec["topologySpreadConstraints"]
    same = [
        index
        for index, each in enumerate(written)
        if (each.get("topologyKey"), each.get("whenUnsatisfiable") or DO_NOT_SCHEDULE) == wanted
    ]
    return written[position if position in same else same[0]]


def _constraint_text(constraint: api.TopologySpreadConstraint, position: int) -> str:
    return f"spread constraint {position + 1} ({constraint.topology_key})"


# -- before any node is filtered -----------------------------------------------------------------------------------


def remove_gates(place: SpecPlace, spec: api.PodSpec) -> Change:
    """Remove all scheduling gates. Only their controllers may do that, after their own checks:
    `fix_writer` leaves the removal out of commands and of patches for a live cluster."""
    summary = _gates_clause("have {} lift {}", spec.scheduling_gates)
    return place.change(FixKind.SCHEDULING_GATES, summary, remove_field("schedulingGates"))


def gates_text(gates: Sequence[api.PodSchedulingGate]) -> str:
    """Return which controllers set and remove the gates, as a sentence without its period."""
    clause = _gates_clause("{} sets and lifts {}", gates)
    return clause[:1].upper() + clause[1:]


def _gates_clause(form: str, gates: Sequence[api.PodSchedulingGate]) -> str:
    named, more = gates[:_MAX_GATES], len(gates) - _MAX_GATES
    clauses = (form.format(_gate_owner(gate.name), f"the scheduling gate {gate.name}") for gate in named)
    return " and ".join((*clauses, *([f"{more:,} more"] if more > 0 else ())))


def _gate_owner(gate: str) -> str:
    domain = gate.rpartition("/")[0]
    return _GATE_OWNERS.get(domain) or (f"the controller of {domain}" if domain else "the controller that has set it")


def set_scheduler(place: SpecPlace, spec: api.PodSpec, profile: str) -> Change:
    """Set the name of an existing scheduler profile."""
    summary = f"set schedulerName from {spec.scheduler_name} to {profile}"
    return place.change(FixKind.SCHEDULER_NAME, summary, set_field(profile, "schedulerName"))


def _is_written(document: Document, part: api.NodeSelectorRequirement) -> bool:
    values = tuple(document.get("values") or ())
    return (document.get("key"), document.get("operator"), values) == (part.key, part.operator, part.values)


def _is_written_term(document: Document, term: api.PodAffinityTerm) -> bool:
    """Return whether the pod's term was made from this term of the document; admission adds
    expressions for `matchLabelKeys` and keeps labels."""
    labels = term.label_selector.match_labels if term.label_selector is not None else {}
    written = (document.get("labelSelector") or {}).get("matchLabels") or {}
    return document.get("topologyKey") == term.topology_key and written == dict(labels)


def _selector_text(selector: api.LabelSelector | None) -> str:
    if selector is None:
        return "no pods"
    labels = [f"{key}={value}" for key, value in selector.match_labels.items()]
    labels += (f"{each.key} {each.operator} {', '.join(each.values)}".rstrip() for each in selector.match_expressions)
    return f"pods with {' and '.join(labels)}" if labels else "all pods"
