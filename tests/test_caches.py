# SPDX-License-Identifier: Apache-2.0
"""Every cache is declared with its key, invalidation, limit and reference, and the declarations are consistent."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from types import ModuleType
from typing import TypeGuard

from scripts.cache_table import declarations, modules
from scripts.lockfile import ROOT

from steersman.base.cache_spec import VALIDATE_STATE, CacheSpec, ReferenceChecks
from steersman.scheduler.engine.validation import ENGINE_CHECKS
from steersman.scheduler.state.count_validation import COUNT_CHECKS
from steersman.scheduler.state.validation import CACHE_CHECKS, TABLE_CHECKS

#: Classes that store cached values.
MECHANISMS = {"LruCache", "WeakValueCache", "Memo", "SharedMemo"}
#: Attributes with the version that a value was computed from.
VERSION = re.compile(r"_(seen|version|versions|epoch|position|positions|generation|as_of|forgotten|changes)$")


def test_cache_names_are_unique() -> None:
    names = Counter(spec.name for _, spec in declarations())
    assert [name for name, count in names.items() if count > 1] == []
    assert len(names) > 20


def test_declared_attributes_exist() -> None:
    missing = [
        (spec.name, attribute)
        for module, spec in declarations()
        for attribute in spec.attributes
        if attribute not in set(_attributes(module))
    ]
    assert missing == []


def test_every_bounded_cache_and_every_memo_is_declared() -> None:
    undeclared = [
        f"{module.__name__}: {attribute}"
        for module in modules()
        for attribute in _cache_attributes(module)
        if attribute not in _declared_in(module)
    ]
    assert undeclared == [], "declare a steersman.base.cache_spec.CacheSpec beside the class"


def test_versions_that_are_compared_inline_are_declared_as_inline() -> None:
    undeclared = [
        f"{module.__name__}: {owner}.{attribute}"
        for module in modules()
        for owner, attribute in _compared_versions(module)
        if owner not in {a.partition(".")[0] for spec in _specs_in(module) if spec.is_inline for a in spec.attributes}
    ]
    assert undeclared == [], "use a Memo; if that is too slow, declare a CacheSpec with is_inline"


def test_caches_that_name_validate_state_are_compared_by_it() -> None:
    checks: tuple[ReferenceChecks[object], ...] = (CACHE_CHECKS, TABLE_CHECKS, COUNT_CHECKS, ENGINE_CHECKS)  # type: ignore[assignment]
    compared = Counter(spec.name for some in checks for spec in some.checked_specs())
    assert compared == Counter(spec.name for _, spec in declarations() if spec.checked_by == VALIDATE_STATE)


def test_tests_that_declarations_name_exist() -> None:
    paths = {spec.checked_by for _, spec in declarations()} - {VALIDATE_STATE}
    assert [path for path in sorted(paths) if not (ROOT / path).is_file()] == []


def _specs_in(module: ModuleType) -> list[CacheSpec]:
    return [spec for owner, spec in declarations() if owner is module]


def _declared_in(module: ModuleType) -> set[str]:
    return {attribute for spec in _specs_in(module) for attribute in spec.attributes}


def _classes(module: ModuleType) -> Iterator[ast.ClassDef]:
    return (node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.ClassDef))


def _assignments(module: ModuleType) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield each attribute assigned to `self`, as ``Class.attribute``, with its value."""
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


def _cache_attributes(module: ModuleType) -> Iterator[str]:
    for attribute, value in _assignments(module):
        for call in ast.walk(value) if value is not None else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in MECHANISMS:
                yield attribute


def _compared_versions(module: ModuleType) -> Iterator[tuple[str, str]]:
    """Yield each class that compares a stored version, and the attribute of the version."""
    for owner in _classes(module):
        for node in ast.walk(owner):
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.NotEq):
                sides = (node.left, *node.comparators)
                yield from ((owner.name, side.attr) for side in sides if _is_own(side) and VERSION.search(side.attr))


def _is_own(node: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
