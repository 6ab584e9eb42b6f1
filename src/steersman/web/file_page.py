# SPDX-License-Identifier: Apache-2.0
"""The page of a simulation as one file that opens without a server: `steersman simulate --report FILE --interactive`.

The file carries script, styles and the answers that a server would give, by their paths, in compressed blocks of which the page
unpacks those that it needs. Pods that wait come first, with their matrices; of the others as many as fit. The policy in its
head allows script and style by their hashes, and no request.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final
from urllib.parse import parse_qsl

import msgspec

from steersman.assembly import Scheduler
from steersman.errors import InputError
from steersman.observe import DecisionLog, DecisionRecord
from steersman.serving import ask_here
from steersman.serving.http import Request
from steersman.sim import Simulation
from steersman.web.cluster_feed import ClusterFeed, ClusterSource
from steersman.web.event_rows import DecisionEvents, EventRows
from steersman.web.host import WebHost, observed
from steersman.web.http_api import PREFIX, WebApi
from steersman.web.page_files import PageFiles
from steersman.web.pending import waiting_pods
from steersman.web.pod_places import PodFilter, pod_table

MOST_BYTES: Final = 8 * 1024 * 1024
"""So many bytes of answers are in a file, compressed: a browser reads a file of this size in one task."""
BLOCK_BYTES: Final = 256 * 1024
"""A block is full with so many bytes of JSON: the page unpacks it in milliseconds."""
MOST_DECISIONS: Final = 1_000_000
MOST_CELLS: Final = 1_000_000
"""Of further pods so many rows of matrices are made: each takes time."""
FIRST_WAITING: Final = 100
"""So many pods that wait come with their matrices before anything else."""
NOT_BUILT: Final = "needs the web page, which is not built"
DATA_ID: Final = "steersman-data"
BLOCK_ID: Final = "steersman-block-"
_SCRIPT: Final = re.compile(r'<script\b[^>]*\bsrc="\./(?P<file>[^"]+)"[^>]*></script>')
_STYLE: Final = re.compile(r'<link\b(?=[^>]*rel="stylesheet")[^>]*\bhref="\./(?P<file>[^"]+)"[^>]*>')
_ICON: Final = re.compile(r'<link\b(?=[^>]*rel="icon")[^>]*>')


class FilePage:
    """The page of one simulation. Made before it runs, so that decisions are known; written afterwards."""

    def __init__(self, simulation: Simulation, files: PageFiles | None = None) -> None:
        """Raises `InputError` if the page is not built."""
        self._files = files or PageFiles()
        if not self._files.is_built:
            raise InputError(NOT_BUILT, field="--interactive", hint="type `make web` in a clone, or install the wheel")
        scheduler = simulation.scheduler
        events = EventRows()
        scheduler.observe(DecisionEvents(events, scheduler.clock))
        decisions = DecisionLog(scheduler, MOST_DECISIONS)
        scheduler.observe(decisions)
        decisions, attempts = observed(scheduler, decisions)
        self._scheduler = scheduler
        self._host = WebHost("file", scheduler, decisions, attempts, events)
        self._feed = ClusterFeed(ClusterSource(scheduler, attempts, events), ask_here)

    def text(self, most_bytes: int = MOST_BYTES) -> str:
        """The file, with the simulation as it is now."""
        info, blocks = asyncio.run(self._packed(most_bytes))
        data = b'{"info":%b,"blocks":%d}' % (info, len(blocks))
        return _assembled(self._files, data.replace(b"<", b"\\u003c").decode(), blocks)

    async def _packed(self, most_bytes: int) -> tuple[bytes, list[str]]:
        """The host's words about itself, and the answers in blocks."""
        decisions = DecisionsByPod(self._scheduler, self._host.decisions)
        web_api = WebApi(msgspec.structs.replace(self._host, decisions=decisions), self._feed)
        table = next(part for part in pod_table(self._scheduler, PodFilter(), len(self._scheduler.pods), 0) if part)
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
        """The paths that are answered, those first that are most likely to be looked at."""
        waiting = [queued.key for queued in waiting_pods(self._scheduler)]
        others = [pod for pod in sorted(self._scheduler.pods) if pod not in set(waiting)]
        table = self._scheduler.cache.nodes
        yield from ("info", "cluster", "pending", "decisions?limit=1000", "configuration")
        for pod in waiting[:FIRST_WAITING]:
            yield from (f"pods/{pod}", f"pods/{pod}/matrix")
        yield from (f"nodes/{table.names[row]}" for row in sorted(table.live_rows()))
        yield from (f"pods/{pod}" for pod in (*waiting[FIRST_WAITING:], *others))
        most = MOST_CELLS // max(1, table.node_count)
        yield from (f"pods/{pod}/matrix" for pod in (*waiting[FIRST_WAITING:], *others)[:most])


async def _asked(web_api: WebApi, paths: Iterator[str]) -> AsyncIterator[tuple[str, bytes]]:
    """Answers by path without parameters; what cannot be answered is left out."""
    for path in paths:
        name, _, query = path.partition("?")
        answer = await web_api.answer(Request("GET", PREFIX + name, tuple(parse_qsl(query))))
        if answer.status == 200:
            yield name, answer.body


class DecisionsByPod(DecisionLog):
    """The decisions of a simulation that has ended. Every pod is asked about: they are found by pod."""

    def __init__(self, scheduler: Scheduler, made: DecisionLog) -> None:
        super().__init__(scheduler, MOST_DECISIONS)
        latest_first = made.recent(len(made))
        self.extend(reversed(latest_first))
        self._by_pod: dict[str, list[DecisionRecord]] = {}
        for record in latest_first:
            self._by_pod.setdefault(record.pod, []).append(record)

    def of(self, pod: str) -> list[DecisionRecord]:
        return self._by_pod.get(pod, [])


class AnswerBlocks:
    """Answers by path, packed as they come. Block 0 has the number of the block of every path."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._blocks: list[str] = []
        self._open: list[bytes] = []
        self._open_bytes = 0
        #: What is packed so far takes so many bytes in a file.
        self.bytes = 0

    def add(self, path: str, body: bytes) -> None:
        self._index[path] = len(self._blocks) + 1
        self._open.append(b"%b:%b" % (msgspec.json.encode(path), body))
        self._open_bytes += len(body)
        if self._open_bytes >= BLOCK_BYTES:
            self._close()

    def packed(self) -> list[str]:
        """All blocks; nothing can be added afterwards."""
        if self._open:
            self._close()
        return [_packed(msgspec.json.encode(self._index)), *self._blocks]

    def _close(self) -> None:
        block = _packed(b"{%b}" % b",".join(self._open))
        self._blocks.append(block)
        self.bytes += len(block)
        self._open, self._open_bytes = [], 0


def _packed(text: bytes) -> str:
    """Compressed, in base64; the same text gives the same."""
    return base64.b64encode(gzip.compress(text, 6, mtime=0)).decode()


def _assembled(files: PageFiles, data: str, blocks: Sequence[str]) -> str:
    """The index with script, style and data in place of references to files. The script comes last: it needs what is above."""
    index = files.text("/index.html")
    script, style = _SCRIPT.search(index), _STYLE.search(index)
    assert script is not None, "the page has a script"
    assert style is not None, "the page has a style sheet"
    code, rules = files.text(f"/{script['file']}"), files.text(f"/{style['file']}")
    policy = (
        f"default-src 'none'; script-src {_hash(code)}; style-src {_hash(rules)}; img-src data:; "
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


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
