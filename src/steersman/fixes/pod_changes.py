# SPDX-License-Identifier: Apache-2.0
"""Changes of a pod's spec that answer a plugin's objection to a node: tolerations, selectors, affinity, spreading, gates.

Each function gives alternatives; an alternative is a tuple of changes that belong together, such as tolerations of all taints
of one node. Whether one of them can be left out is found by trying.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from steersman import api
from steersman.api.node_selectors import lazy
from steersman.api.tolerations import NO_EXECUTE, NO_SCHEDULE, tolerates
from steersman.explain.cluster_details import term_text
from steersman.fixes.changes import AnyChange, Change, Document, NumberedChange, SpecPlace
from steersman.fixes.fix import FixKind

Alternative: TypeAlias = tuple[AnyChange, ...]

HOSTNAME: Final = "kubernetes.io/hostname"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
_REJECTING: Final = (NO_SCHEDULE, NO_EXECUTE)
_MOST_SKEW: Final = 1000


def untolerated(spec: api.PodSpec, node: api.Node) -> list[api.Taint]:
    """The taints that keep the pod off the node."""
    return [
        taint
        for taint in node.spec.taints
        if taint.effect in _REJECTING and not any(tolerates(toleration, taint) for toleration in spec.tolerations)
    ]


def taint_text(taint: api.Taint) -> str:
    """The taint as kubectl writes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def tolerate(place: SpecPlace, spec: api.PodSpec, node: api.Node) -> Iterator[Alternative]:
    """Tolerations of exactly the taints of one node."""
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
    """Drops the node selection that keeps the pod off the node: keys of the selector, and a term's expressions or the term."""
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
    """The terms of the required node affinity, of which a node has to meet one."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity is not None else None
    return () if required is None else required.node_selector_terms


def meets(term: api.NodeSelectorTerm, node: api.Node) -> bool:
    """Whether the node meets one term of a node affinity."""
    return lazy(api.NodeSelector(node_selector_terms=(term,))).matches(node.metadata.labels, node.metadata.name)


def _term_of(expression: api.NodeSelectorRequirement) -> api.NodeSelectorTerm:
    return api.NodeSelectorTerm(match_expressions=(expression,))


def _dropped_key(place: SpecPlace, key: str, value: str) -> Change:
    def edit(spec: Document) -> None:
        _without(spec, ("nodeSelector", key))

    return place.change(FixKind.NODE_SELECTOR, f"drop {key}={value} from the node selector", edit)


def _relaxed_expression(
    place: SpecPlace, term: int, unmet: api.NodeSelectorRequirement, node: api.Node
) -> AnyChange | None:
    """The expression with one value more or less, or with the nearest other bound, so that the node meets it; None: there is no
    such."""
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
    """The bound, moved so far that the value is within it. Labels and bounds are never below zero."""
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
    def edit(spec: Document) -> None:
        _without(spec, ("affinity", "nodeAffinity", REQUIRED))

    text = " or ".join(map(term_text, terms))
    return place.change(FixKind.NODE_AFFINITY, f"drop the required node affinity ({text})", edit)


# -- pods and their domains --------------------------------------------------------------------------------------------


def drop_pod_affinity(place: SpecPlace, spec: api.PodSpec) -> Iterator[Alternative]:
    """Each required term about other pods, dropped."""
    affinity = spec.affinity
    if affinity is None:
        return
    required = (
        affinity.pod_affinity.required_during_scheduling_ignored_during_execution if affinity.pod_affinity else ()
    )
    for position, term in enumerate(required):
        yield (_dropped_term(place, FixKind.POD_AFFINITY, "podAffinity", position, term),)
    anti = affinity.pod_anti_affinity
    forbidden = anti.required_during_scheduling_ignored_during_execution if anti is not None else ()
    for position, term in enumerate(forbidden):
        yield (_dropped_term(place, FixKind.POD_ANTI_AFFINITY, "podAntiAffinity", position, term),)


def _dropped_term(place: SpecPlace, kind: FixKind, name: str, position: int, term: api.PodAffinityTerm) -> Change:
    def edit(spec: Document) -> None:
        terms = spec["affinity"][name][REQUIRED]
        same = [index for index, each in enumerate(terms) if _is_written_term(each, term)]
        dropped = position if position in same else same[0]
        left = [each for index, each in enumerate(terms) if index != dropped]
        if left:
            spec["affinity"][name][REQUIRED] = left
        else:
            _without(spec, ("affinity", name, REQUIRED))

    what = "affinity" if kind is FixKind.POD_AFFINITY else "anti-affinity"
    wanted = _selector_text(term.label_selector)
    summary = f"drop the required pod {what} to {wanted} per {term.topology_key} (term {position + 1})"
    return place.change(kind, summary, edit)


def relax_spread(place: SpecPlace, spec: api.PodSpec) -> Iterator[Alternative]:
    """Each constraint that rejects nodes, with a larger `maxSkew` or as a wish."""
    for position, constraint in enumerate(spec.topology_spread_constraints):
        if constraint.when_unsatisfiable in (DO_NOT_SCHEDULE, ""):
            yield (_more_skew(place, position, constraint),)
            yield (_wished_spread(place, position, constraint),)


def _more_skew(place: SpecPlace, position: int, constraint: api.TopologySpreadConstraint) -> NumberedChange:
    def make(step: int) -> Change:
        skew = constraint.max_skew + step

        def edit(spec: Document) -> None:
            _constraint(spec, position, constraint)["maxSkew"] = skew

        summary = f"raise maxSkew of {_constraint_text(constraint, position)} from {constraint.max_skew} to {skew}"
        return place.change(FixKind.MAX_SKEW, summary, edit)

    key = f"{FixKind.MAX_SKEW} {position}"
    return NumberedChange(key, FixKind.MAX_SKEW, 1, max(1, _MOST_SKEW - constraint.max_skew), make)


def _wished_spread(place: SpecPlace, position: int, constraint: api.TopologySpreadConstraint) -> Change:
    def edit(spec: Document) -> None:
        found = _constraint(spec, position, constraint)
        found["whenUnsatisfiable"] = SCHEDULE_ANYWAY
        found.pop("minDomains", None)  # is for DoNotSchedule

    summary = f"set whenUnsatisfiable of {_constraint_text(constraint, position)} to {SCHEDULE_ANYWAY}"
    return place.change(FixKind.SCHEDULE_ANYWAY, summary, edit)


def _constraint(spec: Document, position: int, constraint: api.TopologySpreadConstraint) -> Document:
    """The constraint in the spec that is changed: an API server allows one for each topology and effect."""
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


# -- before any node is looked at --------------------------------------------------------------------------------------


def remove_gates(place: SpecPlace, spec: api.PodSpec) -> Change:
    """All scheduling gates, removed: each of them holds the pod back."""

    def edit(document: Document) -> None:
        document.pop("schedulingGates", None)

    gates = ", ".join(gate.name for gate in spec.scheduling_gates)
    noun = "gate" if len(spec.scheduling_gates) == 1 else "gates"
    return place.change(FixKind.SCHEDULING_GATES, f"remove the scheduling {noun} {gates}", edit)


def set_scheduler(place: SpecPlace, spec: api.PodSpec, profile: str) -> Change:
    """The name of a scheduler that there is."""

    def edit(document: Document) -> None:
        document["schedulerName"] = profile

    summary = f"set schedulerName from {spec.scheduler_name} to {profile}"
    return place.change(FixKind.SCHEDULER_NAME, summary, edit)


def _without(document: Document, path: tuple[str, ...]) -> None:
    """Removes what is at the path, and what is empty without it."""
    name, *rest = path
    if rest and isinstance(document.get(name), dict):
        _without(document[name], tuple(rest))
    if not rest or not document.get(name):
        document.pop(name, None)


def _is_written(document: Document, part: api.NodeSelectorRequirement) -> bool:
    values = tuple(document.get("values") or ())
    return (document.get("key"), document.get("operator"), values) == (part.key, part.operator, part.values)


def _is_written_term(document: Document, term: api.PodAffinityTerm) -> bool:
    """Whether the pod's term came from this one; admission adds expressions for `matchLabelKeys`, and leaves labels alone."""
    labels = term.label_selector.match_labels if term.label_selector is not None else {}
    written = (document.get("labelSelector") or {}).get("matchLabels") or {}
    return document.get("topologyKey") == term.topology_key and written == dict(labels)


def _selector_text(selector: api.LabelSelector | None) -> str:
    if selector is None:
        return "no pods"
    labels = [f"{key}={value}" for key, value in selector.match_labels.items()]
    labels += (f"{each.key} {each.operator} {', '.join(each.values)}".rstrip() for each in selector.match_expressions)
    return f"pods with {' and '.join(labels)}" if labels else "all pods"
