# SPDX-License-Identifier: Apache-2.0
"""`python -m scripts.cache_table`: print the page of the site that lists the declared caches.

A declaration is a `steersman.base.cache_spec.CacheSpec` beside the class whose attributes it names. The
script finds declarations by importing every module of the scheduler.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Final

import steersman
from steersman.base.cache_spec import VALIDATE_STATE, CacheSpec

HEADER: Final = """\
# Caches of the scheduler

Every value in this table is computed from the nodes, pods and other objects of the cluster. Without the caches each
decision would be the same, only slower. `validate_state()` of the scheduler cache and of the scheduling cycle
recomputes the references and reports the first difference; tests call it after every step. The mechanisms are
described in [ADR 0017](../adr/0017-what-is-kept.md). `tests/test_caches.py` fails for a cache that is not declared.
"""
PACKAGES: Final = (
    "framework",
    "scheduler.state",
    "scheduler.engine",
    "scheduler.runtime",
    "scheduler.plugins",
    "scheduler.preemption",
    "scheduler.assembly",
)


def modules() -> Iterator[ModuleType]:
    """Import and yield every module of the packages that may have caches."""
    for package in PACKAGES:
        name = f"{steersman.__name__}.{package}"
        yield (imported := importlib.import_module(name))
        for found in sorted(pkgutil.walk_packages(imported.__path__, f"{name}."), key=lambda module: module.name):
            yield importlib.import_module(found.name)


def declarations() -> Iterator[tuple[ModuleType, CacheSpec]]:
    """Yield each declaration with the module of the class that owns the cache."""
    for module in modules():
        for value in vars(module).values():
            if (
                isinstance(value, CacheSpec)
                and getattr(vars(module).get(owner(value)), "__module__", "") == module.__name__
            ):
                yield module, value


def owner(spec: CacheSpec) -> str:
    """Return the name of the class that has the first attribute of the cache."""
    return spec.attributes[0].partition(".")[0]


def page() -> str:
    """Return the page: a table with one row for each declaration."""
    lines = ["| cache | key | invalidated by | limit | reference, and what compares |", "|---|---|---|---|---|"]
    for module, spec in declarations():
        where = f"`{module.__name__.removeprefix('steersman.')}.{owner(spec)}`"
        checked_by = f"`{VALIDATE_STATE}`" if spec.checked_by == VALIDATE_STATE else _link(spec.checked_by)
        cells = (
            f"**{spec.name}** in {where}: {spec.contents}",
            spec.key,
            f"{spec.invalidation}{' (compared inline)' if spec.is_inline else ''}",
            spec.limit,
            f"{spec.reference}; {checked_by}",
        )
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join([HEADER, *lines, ""])


def _link(path: str) -> str:
    return f"`{path}`"


if __name__ == "__main__":
    print(page())
