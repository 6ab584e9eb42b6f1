# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.web.report_file [NODES [PODS]]`: a large interactive report: how long it takes to write, its size,
and how it opens.

5,000 nodes and 20,000 pods unless told otherwise, half of them on nodes already. Wants BROWSER_PYTHON and CHROMIUM, as
`make bench-web` sets them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.web.__main__ import objects, probed
from steersman.sandbox.web.file_page import FilePage
from steersman.simulation import Simulation


def main() -> None:
    nodes, pods = (*map(int, sys.argv[1:]), *(5_000, 20_000)[len(sys.argv) - 1 :])
    items = list(objects(nodes, pods))
    waiting = [item for item in items if item["kind"] == "Pod" and item["metadata"]["name"].startswith("old-")][::2]
    for item in waiting:
        del item["spec"]["nodeName"], item["status"]
    with TemporaryDirectory() as folder:
        manifests, report = Path(folder) / "objects.json", Path(folder) / "report.html"
        manifests.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        with Simulation.load(str(manifests), controllers=False) as simulation:
            page = FilePage(simulation)
            simulation.run()
            begin = time.process_time()
            report.write_text(page.text(), encoding="utf-8")
            taken = time.process_time() - begin
        size = report.stat().st_size / 1e6
        print(f"{nodes} nodes, {pods} pods: written in {taken:.1f} s of CPU, {size:.1f} MB", flush=True)
        for line in asyncio.run(probed(report.as_uri(), f"default/{waiting[0]['metadata']['name']}"))["lines"]:
            print(line)


if __name__ == "__main__":
    main()
