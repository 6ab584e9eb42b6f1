# SPDX-License-Identifier: Apache-2.0
"""Whatever is kept is declared: key, stamps, bound and twin; and the declarations are true as far as a program can tell."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import TypeGuard

from scripts.kept import PAGE, declarations, modules, rewritten
from scripts.lockfile import ROOT

from steersman.engine.validation import ENGINE_CHECKS
from steersman.kept import VALIDATE_STATE, Kept, TwinChecks
from steersman.state.count_validation import COUNT_CHECKS
from steersman.state.validation import CACHE_CHECKS, TABLE_CHECKS

#: What the one mechanism is made of.
MECHANISMS = {"RecentTable", "SharedTable", "Derived", "SharedDerived"}
#: Attributes that say as of when something was computed.
STAMP = re.compile(r"_(seen|version|versions|epoch|position|positions|generation|as_of|forgotten|changes)$")


def test_every_declaration_has_a_name_of_its_own() -> None:
    names = Counter(kept.name for _, kept in declarations())
    assert [name for name, count in names.items() if count > 1] == []
    assert len(names) > 20


def test_declarations_name_attributes_that_there_are() -> None:
    missing = [
        (kept.name, attribute)
        for module, kept in declarations()
        for attribute in kept.attributes
        if attribute not in set(_attributes(module))
    ]
    assert missing == []


def test_every_table_and_every_derived_value_is_declared() -> None:
    undeclared = [
        f"{module.__name__}: {attribute}"
        for module in modules()
        for attribute in _made_of_the_mechanisms(module)
        if attribute not in _declared_in(module)
    ]
    assert undeclared == [], "declare it beside its class, as a steersman.kept.Kept"


def test_stamps_that_are_compared_by_hand_are_declared_as_such() -> None:
    undeclared = [
        f"{module.__name__}: {owner}.{attribute}"
        for module in modules()
        for owner, attribute in _compared_stamps(module)
        if owner not in {a.partition(".")[0] for kept in _kept_in(module) if kept.is_inline for a in kept.attributes}
    ]
    assert undeclared == [], "use a Derived; where that is too slow, declare a steersman.kept.Kept with is_inline"


def test_what_is_said_to_be_compared_by_validate_state_is() -> None:
    checks: tuple[TwinChecks[object], ...] = (CACHE_CHECKS, TABLE_CHECKS, COUNT_CHECKS, ENGINE_CHECKS)  # type: ignore[assignment]
    compared = Counter(kept.name for some in checks for kept in some.declared())
    assert compared == Counter(kept.name for _, kept in declarations() if kept.held_equal == VALIDATE_STATE)


def test_what_is_said_to_be_compared_by_a_test_has_one() -> None:
    paths = {kept.held_equal for _, kept in declarations()} - {VALIDATE_STATE}
    assert [path for path in sorted(paths) if not (ROOT / path).is_file()] == []


def test_the_table_in_the_docs_follows_from_the_declarations() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == rewritten(page), "write it anew with: .venv/bin/python -m scripts.kept"


def _kept_in(module: ModuleType) -> list[Kept]:
    return [kept for owner, kept in declarations() if owner is module]


def _declared_in(module: ModuleType) -> set[str]:
    return {attribute for kept in _kept_in(module) for attribute in kept.attributes}


def _classes(module: ModuleType) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.ClassDef))


def _assignments(module: ModuleType) -> Iterator[tuple[str, ast.expr | None]]:
    """Attributes that are assigned to `self`, as ``Class.attribute``, each with its value."""
    for owner in _classes(module):
        for node in ast.walk(owner):
            targets = (
                node.targets
                if isinstance(node, ast.Assign)
                else [node.target]
                if isinstance(node, ast.AnnAssign)
                else []
            )
            for target in targets:
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    if _is_own(part):
                        assert isinstance(node, ast.Assign | ast.AnnAssign)
                        yield f"{owner.name}.{part.attr}", node.value


def _attributes(module: ModuleType) -> Iterator[str]:
    return (attribute for attribute, _ in _assignments(module))


def _made_of_the_mechanisms(module: ModuleType) -> Iterator[str]:
    for attribute, value in _assignments(module):
        for call in ast.walk(value) if value is not None else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in MECHANISMS:
                yield attribute


def _compared_stamps(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Classes that ask whether a stamp which they have is still what it was, and the stamp."""
    for owner in _classes(module):
        for node in ast.walk(owner):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotEq):
                sides = (node.left, *node.comparators)
                yield from ((owner.name, side.attr) for side in sides if _is_own(side) and STAMP.search(side.attr))


def _is_own(node: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
