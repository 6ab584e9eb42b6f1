# SPDX-License-Identifier: Apache-2.0
"""Makes data frames of pandas and polars of a result and prints what they are, in an environment that has both."""

from __future__ import annotations

import json
import sys

from steersman import Simulation
from steersman.simulation.results.frames import TABLES
from steersman.testing import make_node, make_pod


def main() -> None:
    pods = [make_pod("small").req(cpu="1").obj(), make_pod("large").req(cpu="64").obj()]
    result = Simulation.load(make_node("n1").capacity(cpu="4").obj(), pods).run()
    seen: dict[str, object] = {}
    for table in TABLES:
        pandas, polars = result.to_frame(table, "pandas"), result.to_frame(table, "polars")
        arrow = result.to_frame(table, "pyarrow")
        seen[table] = {
            "pandas": {name: str(kind) for name, kind in pandas.dtypes.items()},
            "polars": {name: str(kind) for name, kind in polars.schema.items()},
            "equal": polars.to_dicts() == arrow.to_pylist(),
            "rows": [len(pandas), len(polars), arrow.num_rows],
        }
    seen["default"] = type(result.to_frame()).__module__.split(".")[0]
    seen["missing"] = result.to_frame("placements", "pandas")["bound_at"].isna().tolist()
    json.dump(seen, sys.stdout)


if __name__ == "__main__":
    main()
