# SPDX-License-Identifier: Apache-2.0
"""Page of a simulation in one file without a server: `simulate --report FILE --interactive`.

The file contains script, styles and the server's answers by path, in compressed blocks that the
page unpacks on demand. Waiting pods come first, with their matrices; then as many others as fit.
Its content security policy allows script and style by hash, and no requests.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from steersman.base import InputError
from steersman.base.report import csp_hash
from steersman.kube.observe import DecisionLog, DecisionRecord
from steersman.kube.serving import Request, ask_here
from steersman.sandbox.web.cluster_feed import ClusterFeed, ClusterSource
from steersman.sandbox.web.event_rows import DecisionEvents, EventRows
from steersman.sandbox.web.host import WebHost, observed
from steersman.sandbox.web.http_api import PREFIX, WebApi
from steersman.sandbox.web.page_files import PageFiles
from steersman.sandbox.web.pending import waiting_pods
from steersman.sandbox.web.pod_places import PodFilter, pod_table
from steersman.scheduler.assembly import Scheduler
from steersman.simulation import Simulation

MAX_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of the compressed answers: a browser reads a file of this size in one task."""
BLOCK_BYTES: Final = 256 * 1024
"""Size of a block of JSON, which the page unpacks in milliseconds."""
MAX_DECISIONS: Final = 1_000_000
MAX_CELLS: Final = 1_000_000
"""Maximum number of matrix rows for further pods."""
FIRST_WAITING: Final = 100
"""Number of waiting pods whose matrices come first."""
NOT_BUILT: Final = "needs the web page, which is not built"
DATA_ID: Final = "steersman-data"
BLOCK_ID: Final = "steersman-block-"
_SCRIPT: Final = re.compile(r'<script\b[^>]*\bsrc="\./(?P<file>[^"]+)"[^>]*></script>')
_STYLE: Final = re.compile(r'<link\b(?=[^>]*rel="stylesheet")[^>]*\bhref="\./(?P<file>[^"]+)"[^>]*>')
_ICON: Final = re.compile(r'<link\b(?=[^>]*rel="icon")[^>]*>')


class FilePage:
    """Page of one simulation. Create it before the run, so that it records decisions, and write it
    afterwards."""

    def __init__(self, simulation: Simulation, files: PageFiles | None = None) -> None:
        """Create the page. Raises `InputError` if the page is not built."""
        self._files = files or PageFiles()
        if not self._files.is_built:
            raise InputError(NOT_BUILT, field="--interactive", hint="type `make web` in a clone, or install the wheel")
        scheduler = simulation.scheduler
        events = EventRows()
        scheduler.observe(DecisionEvents(events, scheduler.clock))
        decisions = DecisionLog(scheduler, MAX_DECISIONS)
        scheduler.observe(decisions)
        decisions, attempts = observed(scheduler, decisions)
        self._scheduler = scheduler
        self._host = WebHost("file", scheduler, decisions, attempts, events)
        self._feed = ClusterFeed(ClusterSource(scheduler, attempts, events), ask_here)

    def text(self, most_bytes: int = MAX_BYTES) -> str:
        """Return the file with the current state of the simulation."""
        info, blocks = asyncio.run(self._packed(most_bytes))
        data = b'{"info":%b,"blocks":%d}' % (info, len(blocks))
        return _assembled(self._files, data.replace(b"<", b"\\u003c").decode(), blocks)

    async def _packed(self, most_bytes: int) -> tuple[bytes, list[str]]:
        """Return the description of the host, and the answers in blocks."""
        decisions = DecisionsByPod(self._scheduler, self._host.decisions)
        web_api = WebApi(msgspec.structs.replace(self._host, decisions=decisions), self._feed)
        parts = pod_table(self._scheduler, self._host.attempts, PodFilter(), len(self._scheduler.pods), 0)
        table = next(part for part in parts if part)
        blocks = AnswerBlocks()
        blocks.add("pods", msgspec.json.encode(table))
        info = b""
        async for path, body in _asked(web_api, self._paths()):
            info = body if path == "info" else info
            blocks.add(path, body)
            if blocks.bytes > most_bytes:
                break
        return info, blocks.packed()

    def _paths(self) -> Iterator[str]:
        """Yield the paths to answer, most likely ones first."""
        waiting = [queued.key for queued in waiting_pods(self._scheduler)]
        others = [pod for pod in sorted(self._scheduler.pods) if pod not in set(waiting)]
        table = self._scheduler.cache.nodes
        yield from ("info", "cluster", "pending", "decisions?limit=1000", "configuration")
        for pod in waiting[:FIRST_WAITING]:
            yield from (f"pods/{pod}", f"pods/{pod}/matrix")
        yield from (f"nodes/{table.names[row]}" for row in sorted(table.live_rows()))
        yield from (f"pods/{pod}" for pod in (*waiting[FIRST_WAITING:], *others))
        most = MAX_CELLS // max(1, table.node_count)
        yield from (f"pods/{pod}/matrix" for pod in (*waiting[FIRST_WAITING:], *others)[:most])


async def _asked(web_api: WebApi, paths: Iterator[str]) -> AsyncIterator[tuple[str, bytes]]:
    """Return answers by path without parameters, without refused ones."""
    for path in paths:
        name, _, query = path.partition("?")
        answer = await web_api.answer(Request("GET", PREFIX + name, tuple(parse_qsl(query))))
        if answer.status == 200:
            yield name, answer.body


class DecisionsByPod(DecisionLog):
    """Decisions of a finished simulation, indexed by pod."""

    def __init__(self, scheduler: Scheduler, made: DecisionLog) -> None:
        super().__init__(scheduler, MAX_DECISIONS)
        latest_first = made.recent(len(made))
        self.extend(reversed(latest_first))
        self._by_pod: dict[str, list[DecisionRecord]] = {}
        for record in latest_first:
            self._by_pod.setdefault(record.pod, []).append(record)

    def decisions_on(self, pod: str) -> list[DecisionRecord]:
        return self._by_pod.get(pod, [])


class AnswerBlocks:
    """Packed answers by path. Block 0 has the block number of every path."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._blocks: list[str] = []
        self._open: list[bytes] = []
        self._open_bytes = 0
        #: Bytes of the packed answers in the file.
        self.bytes = 0

    def add(self, path: str, body: bytes) -> None:
        self._index[path] = len(self._blocks) + 1
        self._open.append(b"%b:%b" % (msgspec.json.encode(path), body))
        self._open_bytes += len(body)
        if self._open_bytes >= BLOCK_BYTES:
            self._close()

    def packed(self) -> list[str]:
        """Return all blocks; nothing can be added afterwards."""
        if self._open:
            self._close()
        return [_packed(msgspec.json.encode(self._index)), *self._blocks]

    def _close(self) -> None:
        block = _packed(b"{%b}" % b",".join(self._open))
        self._blocks.append(block)
        self.bytes += len(block)
        self._open, self._open_bytes = [], 0


def _packed(text: bytes) -> str:
    """Return the text compressed, in base64, deterministically."""
    return base64.b64encode(gzip.compress(text, 6, mtime=0)).decode()


def _assembled(files: PageFiles, data: str, blocks: Sequence[str]) -> str:
    """Return the index with inlined script, style and data. The script comes last, because it needs
    the rest."""
    index = files.text("/index.html")
    script, style = _SCRIPT.search(index), _STYLE.search(index)
    assert script is not None, "the page has a script"
    assert style is not None, "the page has a style sheet"
    code, rules = files.text(f"/{script['file']}"), files.text(f"/{style['file']}")
    policy = (
        f"default-src 'none'; script-src {csp_hash(code)}; style-src {csp_hash(rules)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{rules}</style>'
    parts = [f'<script type="application/json" id="{DATA_ID}">{data}</script>']
    parts += [
        f'<script type="text/plain" id="{BLOCK_ID}{place}">{block}</script>' for place, block in enumerate(blocks)
    ]
    tail = "\n".join((*parts, f'<script type="module">{code}</script>', "</body>"))
    bare = _ICON.sub("", index.replace(script[0], "").replace(style[0], "", 1))
    return bare.replace("</head>", f"{head}\n</head>", 1).replace("</body>", tail, 1)
