# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks [hot-path|growth|memory|preemption|pages|scale|fixes|gangs|templates|sweep] [workload…]`."""

from __future__ import annotations

import sys

from benchmarks import fixes, gangs, growth, growth_by_templates, hot_path, memory, pages, preemption, scale, sweep


def main() -> None:
    what, names = (sys.argv[1] if len(sys.argv) > 1 else "all"), sys.argv[2:]
    # First: what is measured is the greatest memory that the process ever had.
    if what in ("all", "memory"):
        memory.main()
    if what in ("all", "hot-path"):
        hot_path.main(names or None)
    if what in ("all", "growth"):
        growth.main(names or None)
    if what in ("all", "preemption"):
        preemption.main()
    if what in ("all", "pages"):
        pages.main()
    if what == "fixes":
        fixes.main(names)
    if what == "gangs":
        gangs.main(names)
    if what == "templates":
        growth_by_templates.main(names)
    if what == "scale":
        scale.main(names)
    if what == "sweep":
        sweep.main(names)
    known = ("hot-path", "growth", "memory", "preemption", "pages", "scale", "fixes", "gangs", "templates", "sweep")
    if what not in ("all", *known):
        sys.exit(f"unknown benchmark {what!r}; known: {', '.join(known)}")


if __name__ == "__main__":
    main()
