# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmarks.web_page [NODES [PODS [PAIRS]]]`: what open pages cost a sandbox, and how long a matrix takes.

Pods come at 500 a second to a sandbox in this process, in pairs of rounds without and with ten clients of the stream, which are
in a process of their own. CPU time per pod is that of the whole sandbox: API objects, kubelets, scheduler and pages. A pair is
measured within seconds, and every second pair begins with the clients: whatever the machine does besides falls on both. The
median of the ratios counts, of eight pairs at least.
"""

from __future__ import annotations

import asyncio
import gc
import math
import statistics
import sys
import time
from typing import Final

from steersman import api
from steersman.cluster.store.documents import document_of, typed
from steersman.sandbox import Sandbox, SandboxOptions, running_sandbox

CLIENTS: Final = 10
PER_SECOND: Final = 500
BURST_SECONDS: Final = 0.1
FEWEST_PAIRS: Final = 8
READER: Final = """
import asyncio, sys
host, port, token, count = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
async def read():
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(f"GET /web/v1/stream HTTP/1.1\\r\\nHost: {host}\\r\\nAuthorization: Bearer {token}\\r\\n\\r\\n".encode())
    while await reader.read(1 << 16):
        pass
async def main():
    await asyncio.gather(*(read() for _ in range(count)))
asyncio.run(main())
"""


async def main(nodes: int, pods: int, pairs: int) -> None:
    if pairs < FEWEST_PAIRS:
        sys.exit(f"web_page: {pairs} pairs say nothing; use {FEWEST_PAIRS} at least")
    async with running_sandbox(SandboxOptions(nodes=nodes, web_port=0)) as sandbox:
        await _schedule(sandbox, pods, "kept")
        without, beside = list[float](), list[float]()
        for number in range(pairs):
            for clients in (0, CLIENTS) if number % 2 else (CLIENTS, 0):
                cost = await _round(sandbox, clients, pods, f"r{number}-{clients}")
                (beside if clients else without).append(cost)
        await _print_matrix(sandbox, "kept-0")
    for clients, costs in ((0, without), (CLIENTS, beside)):
        print(f"{clients:2} clients: {statistics.median(costs):6.0f} µs of CPU per pod  {[*map(round, costs)]}")
    ratios = sorted(one / other for one, other in zip(beside, without, strict=True))
    # The median of as many coin tosses lies between these ranks in 95 of 100 cases.
    rank = max(0, int(pairs / 2 - 0.98 * math.sqrt(pairs)))
    print(
        f"ratio: {statistics.median(ratios):.3f}, 95 % of [{ratios[rank]:.3f}, {ratios[-1 - rank]:.3f}], {pairs} pairs"
    )


async def _round(sandbox: Sandbox, clients: int, pods: int, prefix: str) -> float:
    """Microseconds of CPU per pod. The pods are gone afterwards, so that every round finds the same cluster."""
    reader = await _readers(sandbox, clients) if clients else None
    try:
        gc.collect()
        begin = time.process_time()
        await _schedule(sandbox, pods, prefix)
        return 1e6 * (time.process_time() - begin) / pods
    finally:
        if reader is not None:
            reader.kill()
            await reader.wait()
        for number in range(pods):
            sandbox.store.delete(api.Pod, f"default/{prefix}-{number}", finalizers=())
        await asyncio.sleep(1.0)


async def _readers(sandbox: Sandbox, count: int) -> asyncio.subprocess.Process:
    assert sandbox.page is not None, "the page was asked for"
    arguments = ("127.0.0.1", str(sandbox.page.port), sandbox.page.token, str(count))
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", READER, *arguments)
    await asyncio.sleep(2.0)  # until all have their first snapshot
    return process


async def _schedule(sandbox: Sandbox, count: int, prefix: str) -> None:
    """Creates pods in bursts, and waits until all have a node."""
    burst = int(PER_SECOND * BURST_SECONDS)
    for start in range(0, count, burst):
        for number in range(start, min(start + burst, count)):
            _create(sandbox, f"{prefix}-{number}")
        await asyncio.sleep(BURST_SECONDS)
    names = [f"default/{prefix}-{number}" for number in range(count)]
    while not all(sandbox.store.get(api.Pod, name).spec.node_name for name in names):
        await asyncio.sleep(BURST_SECONDS)


def _create(sandbox: Sandbox, name: str) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [container]},
    }
    pod = typed(document, api.Pod)
    sandbox.store.create(pod, document_of(pod))


async def _print_matrix(sandbox: Sandbox, name: str) -> None:
    assert sandbox.page is not None, "the page was asked for"
    for path in (f"pods/default/{name}/matrix", "cluster", "pending"):
        seconds, size = min([await _asked(sandbox, path) for _ in range(5)])
        print(f"{path}: {1000 * seconds:.0f} ms, {size / 1000:.0f} kB")


async def _asked(sandbox: Sandbox, path: str) -> tuple[float, int]:
    page = sandbox.page
    assert page is not None, "the page was asked for"
    reader, writer = await asyncio.open_connection("127.0.0.1", page.port)
    begin = time.perf_counter()
    head = f"GET /web/v1/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {page.token}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode())
    received = await reader.read()
    writer.close()
    return time.perf_counter() - begin, len(received)


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    asyncio.run(main(*(*given, *(5000, 500, 48)[len(given) :])))
