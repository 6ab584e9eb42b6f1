# SPDX-License-Identifier: Apache-2.0
"""Reference of Python names, from their own words: signatures, docstrings, and what stands beside the fields."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from enum import Enum
from types import FunctionType, ModuleType
from typing import Final, TypeGuard

import msgspec

from scripts.site.markdown import code, fenced, table

#: The names of `steersman.framework` that plugin authors use; the other exports are for the scheduler.
PLUGIN_CONTRACT: Final = (
    "MAX_NODE_SCORE",
    "MIN_NODE_SCORE",
    "SKIP",
    "ActionType",
    "ApiReadError",
    "ApiReader",
    "BackgroundPlugin",
    "BindPlugin",
    "ClusterEvent",
    "ClusterEventWithHint",
    "Code",
    "ConcernsSomePods",
    "CycleState",
    "Depends",
    "EnqueueExtensions",
    "EventResource",
    "FilterPlugin",
    "Handle",
    "HintFn",
    "NodeInfo",
    "NodeScore",
    "NodeStatusReader",
    "Nodes",
    "Objects",
    "PermitHandle",
    "PermitPlugin",
    "PermitResult",
    "Placement",
    "PlacementFeasiblePlugin",
    "PlacementGeneratePlugin",
    "PlacementProgress",
    "PlacementScore",
    "PlacementScorePlugin",
    "Plugin",
    "PodAccess",
    "PodGroupAssignments",
    "PodGroupInfo",
    "PodGroupPostFilterPlugin",
    "PodGroupPostFilterResult",
    "PodGroups",
    "PodGroupState",
    "PodInfo",
    "PostBindPlugin",
    "PostFilterAnswer",
    "PostFilterHandle",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindHandle",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "ProposedAssignment",
    "QueueSortPlugin",
    "QueuedPod",
    "QueueingHint",
    "RejectionAnswer",
    "ReservePlugin",
    "ScorePlugin",
    "Status",
    "StatusAnswer",
    "UngatesPods",
    "WaitingPod",
    "WhatIf",
    "changed",
    "default_normalize_score",
    "deleted",
    "pods_to_activate",
    "unresolvable",
    "unschedulable",
)
#: The vector forms that a plugin author meets first; what only in-tree kernels need is left out.
VECTOR_FORMS: Final = (
    "ColumnarFilter",
    "ColumnarScore",
    "FilterKernel",
    "ScoreKernel",
    "Normalize",
    "ClusterFilterKernel",
    "ClusterScoreKernel",
    "Feasible",
    "StatusTable",
    "PerPodFragment",
    "KernelFault",
)
NODE_COLUMNS: Final = ("NodesView", "Column", "Topology", "MatchCounts", "DomainCounts", "TaintSets")
#: Names of parameters by their type, for methods that are declared as attributes.
PARAMETER_NAMES: Final = {
    "CycleState": "state",
    "PodInfo": "pod",
    "NodeInfo": "node",
    "Sequence[NodeInfo]": "nodes",
    "Sequence[NodeScore]": "scores",
    "NodeStatusReader": "statuses",
    "Placement": "parent",
    "PlacementProgress": "progress",
    "PodGroupAssignments": "placed",
    "PodGroupInfo": "group",
    "QueuedPod": "queued",
    "ScheduleGroup": "schedule",
    "Sequence[PlacementScore]": "scores",
    "str": "node_name",
}
SECOND_PARAMETERS: Final = {"add_pod": "added", "remove_pod": "removed", "less": "other"}


def library_page() -> str:
    """`import steersman`, and what the names there give."""
    import steersman
    from steersman import simulation as sim
    from steersman.scheduler import diagnosis as explain

    more = {"Usage": sim.Usage, "Event": sim.Event, "SimulationError": sim.SimulationError}
    more |= {
        name: getattr(explain, name) for name in ("NodeExplanation", "Verdict", "Shortage", "PluginScore", "Outcome")
    }
    lines = ["# Library", "", *_module_text(steersman)]
    for name in ("Simulation", *(name for name in steersman.__all__ if name != "Simulation")):
        lines += _entry(name, getattr(steersman, name))
    lines += ["## What results are made of", ""]
    for name, found in more.items():
        lines += _entry(name, found, level=3)
    return "\n".join(lines)


def contract_page() -> str:
    """`steersman.framework`: all that a plugin may import."""
    from steersman import framework
    from steersman.framework import columns, nodes_view, ports

    lines = ["# Plugin contract", "", *_module_text(framework)]
    points = [name for name in PLUGIN_CONTRACT if name.endswith("Plugin")]
    lines += ["## Extension points", ""]
    for name in points:
        lines += _entry(name, getattr(framework, name), level=3)
    lines += ["## Everything else", ""]
    for name in PLUGIN_CONTRACT:
        if name not in points:
            lines += _entry(name, getattr(framework, name), level=3)
    lines += ["## Writing to pods", "", "`handle.pods` of Permit and PostFilter plugins has these methods too.", ""]
    lines += _entry("PodWriter", ports.PodWriter, level=3)
    lines += ["## Vector forms: `steersman.framework.columns`", "", *_module_text(columns)]
    for name in VECTOR_FORMS:
        lines += _entry(name, getattr(columns, name), level=3)
    lines += ["## Node columns: `steersman.framework.nodes_view`", "", *_module_text(nodes_view)]
    for name in NODE_COLUMNS:
        lines += _entry(name, getattr(nodes_view, name), level=3)
    return "\n".join(lines)


def objects_page() -> str:
    """`steersman.api`: the objects that plugins see, and functions for quantities, selectors, tolerations and times."""
    from steersman import api
    from steersman.api import node_selectors, quantity, selectors, timestamps, tolerations

    lines = ["# Kubernetes objects", "", *_module_text(api)]
    lines += ["Fields are those of the Kubernetes API in snake_case: `pod.spec.node_name` is `spec.nodeName`.", ""]
    for name in ("Object", "Struct", "CustomObject", "custom_kind", "key", "kind_of", "ObjectMeta", "Condition"):
        lines += _entry(name, getattr(api, name))
    lines += ["## Kinds", ""]
    kinds = sorted(api.KINDS.values(), key=lambda kind: kind.KIND)
    lines += table(("class", "apiVersion"), ((code(f"api.{kind.__name__}"), code(kind.API_VERSION)) for kind in kinds))
    for module in (quantity, selectors, node_selectors, tolerations, timestamps):
        short = module.__name__.removeprefix("steersman.")
        lines += [f"## {code(short)}", "", *_module_text(module)]
        lines += _functions(module)
    return "\n".join(lines)


def _functions(module: ModuleType) -> Iterator[str]:
    """Public functions of a module, in its order, and values that are functions."""
    body = ast.parse(inspect.getsource(module)).body
    for index, statement in enumerate(body):
        if isinstance(statement, ast.FunctionDef) and statement.name[0] != "_":
            yield from _entry(statement.name, getattr(module, statement.name), level=3)
        elif isinstance(statement, ast.AnnAssign) and "Callable" in ast.unparse(statement.annotation):
            name, text = ast.unparse(statement.target), body[index + 1]
            kind = ast.unparse(statement.annotation).removeprefix("Final[").removesuffix("]")
            kind += "]" * (kind.count("[") - kind.count("]"))
            yield from (f"### {code(name)}", "", *fenced(f"{name}: {kind}", "python"))
            yield from (*_prose(ast.literal_eval(text.value) if isinstance(text, ast.Expr) else ""), "")


def harness_page() -> str:
    """`steersman.testing`: builders and the harness."""
    from steersman import testing

    lines = ["# Testing", "", *_module_text(testing)]
    for name in testing.__all__:
        lines += _entry(name, getattr(testing, name))
    return "\n".join(lines)


def _module_text(module: ModuleType) -> list[str]:
    return [*_prose(module.__doc__), ""]


def _entry(name: str, found: object, level: int = 2) -> Iterator[str]:
    yield f"{'#' * level} {code(name)}"
    yield ""
    if isinstance(found, type) and issubclass(found, Enum):
        yield from _enumeration(found)
    elif isinstance(found, type):
        yield from _class(found, level)
    elif callable(found):
        yield from fenced(_signature(name, found), "python")
        yield from (*_prose(inspect.getdoc(found)), "")
    else:
        yield from (f"{code(f'{type(found).__name__}: {found!r}')}", "")


def _enumeration(found: type[Enum]) -> Iterator[str]:
    yield from (*_prose(found.__doc__), "")
    yield from table(
        ("member", "value"), ((code(name), code(str(each.value))) for name, each in found.__members__.items())
    )


def _class(found: type, level: int) -> Iterator[str]:
    bases = [
        base.__name__ for base in found.__bases__ if base not in (object, msgspec.Struct) and base.__name__[0] != "_"
    ]
    if bases:
        yield from (f"Derives from {', '.join(map(code, bases))}.", "")
    yield from (*_prose(found.__doc__), "")
    fields = field_texts(found)
    methods = {name: shown for name, (kind, _) in fields.items() if (shown := _declared_signatures(found, name, kind))}
    for name, shown in methods.items():
        yield from (f"{'#' * (level + 1)} {code(name)}", "", *fenced(shown, "python"), fields.pop(name)[1], "")
    if fields:
        yield from table(
            ("field", "type", ""), ((code(name), code(kind), text) for name, (kind, text) in fields.items())
        )
    constants = [
        (name, value) for name, value in vars(found).items() if name.isupper() and isinstance(value, str | int)
    ]
    if constants and not fields:
        yield from table(("constant", "value"), ((code(name), code(str(value))) for name, value in constants))
    for name, member in vars(found).items():
        if name == "__init__" and isinstance(member, FunctionType) and not issubclass(found, msgspec.Struct):
            if getattr(found, "_is_protocol", False):
                continue
            yield from _method(found.__name__, member, level, skip_self=True)
        elif not name.startswith("_"):
            yield from _member(name, member, level)


def _declared_signatures(found: type, method: str, annotation: str) -> str:
    """Return the signatures of a method that is declared as an attribute, in each of its forms; "" for other fields."""
    module = sys.modules[found.__module__]
    for statement in ast.parse(inspect.getsource(module)).body:
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == annotation and statement.value:
            annotation = ast.unparse(statement.value)
    forms = [node for node in ast.walk(ast.parse(annotation, mode="eval")) if _is_callable(node)]
    return "\n".join(_declared_signature(method, form) for form in forms)


def _is_callable(node: ast.AST) -> TypeGuard[ast.Subscript]:
    return isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Callable"


def _declared_signature(method: str, form: ast.Subscript) -> str:
    assert isinstance(form.slice, ast.Tuple)
    given, answer = form.slice.elts
    assert isinstance(given, ast.List)
    parameters: dict[str, str] = {}
    for kind in map(ast.unparse, given.elts):
        name = PARAMETER_NAMES[kind]
        parameters[SECOND_PARAMETERS[method] if name in parameters else name] = kind
    shown = ", ".join(["self", *(f"{name}: {kind}" for name, kind in parameters.items())])
    answers = ast.unparse(answer)
    is_awaited = "Awaitable[" in answers
    answers = re.sub(r"Awaitable\[(.*?)\](?: \| \1)?$", r"\1", answers)
    return f"{'async ' if is_awaited else ''}def {method}({shown}) -> {answers}"


def _member(name: str, member: object, level: int) -> Iterator[str]:
    if isinstance(member, property) and member.fget is not None:
        answer = inspect.formatannotation(inspect.signature(member.fget).return_annotation).strip("'")
        yield from (f"{'#' * (level + 1)} {code(f'{name}: {answer}')}", "", *_prose(member.__doc__), "")
    elif isinstance(member, classmethod | staticmethod):
        yield from _method(name, member.__func__, level, skip_self=isinstance(member, classmethod))
    elif isinstance(member, FunctionType):
        yield from _method(name, member, level, skip_self=True)


def _method(name: str, function: Callable[..., object], level: int, skip_self: bool) -> Iterator[str]:
    yield from (f"{'#' * (level + 1)} {code(name)}", "", *fenced(_signature(name, function, skip_self), "python"))
    yield from (*_prose(inspect.getdoc(function)), "")


def _signature(name: str, function: Callable[..., object], skip_self: bool = False) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return f"{name}(…)"
    parameters = list(signature.parameters.values())[1 if skip_self else 0 :]
    shown = str(signature.replace(parameters=parameters)).replace("'", "")
    text = f"{'async ' if inspect.iscoroutinefunction(function) else ''}{name}{shown}"
    if len(text) <= 100:
        return text
    inner = "".join(f"    {_parameter(each)},\n" for each in parameters)
    answer = "" if signature.return_annotation is inspect.Signature.empty else f" -> {signature.return_annotation}"
    return f"{name}(\n{inner}){answer}"


def _parameter(parameter: inspect.Parameter) -> str:
    return str(parameter).replace("'", "")


def field_texts(found: type) -> dict[str, tuple[str, str]]:
    """Annotated fields of a class with their types and what is said of them: comments that begin with `#:`, or a docstring."""
    try:
        source = textwrap.dedent(inspect.getsource(found))
    except (OSError, TypeError):
        return {}
    lines = source.splitlines()
    body = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)).body
    texts: dict[str, tuple[str, str]] = {}
    for index, node in enumerate(body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
            after = body[index + 1] if index + 1 < len(body) else None
            texts[node.target.id] = (ast.unparse(node.annotation).strip("'"), _text_of_field(lines, node, after))
    return texts


def _text_of_field(lines: list[str], node: ast.AnnAssign, after: ast.stmt | None) -> str:
    said: list[str] = []
    at = node.lineno - 2
    while at >= 0 and lines[at].strip().startswith("#:"):
        said.insert(0, lines[at].strip().removeprefix("#:").strip())
        at -= 1
    if not said and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
        said.append(str(after.value.value))
    return " ".join(said)


def _prose(text: str | None) -> list[str]:
    """A docstring as Markdown: indented blocks stay code, ``x`` becomes `x`, and nothing is taken for HTML."""
    lines = inspect.cleandoc(text or "").replace("``", "`").splitlines()
    return [line if line.startswith("    ") else line.replace("<", "&lt;") for line in lines]
