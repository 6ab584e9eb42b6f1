# SPDX-License-Identifier: Apache-2.0
"""Runs a tool as a process of `steersman` itself, with a time limit and bounded output.

The input are the arguments of a call, the output is a document. Files are only read below the
folders that the server was started with. Long lists, and maps with many entries, are truncated
until the text is short enough; the beginnings stay, where documents have the most important
entries.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from steersman.base import InputError
from steersman.cli.mcp_server.tools import ToolArguments

MAX_OUTPUT_BYTES: Final = 256 * 2**20
"""Maximum output of a command; beyond that it is ended."""
NO_CLUSTER: Final = "there are no files, and the server has no kubeconfig"


class ServerSettings(NamedTuple):
    """The options that the server was started with."""

    #: Folders below which files may be read.
    roots: tuple[Path, ...]
    #: The live cluster, or "" for none.
    kubeconfig: str = ""
    context: str = ""
    #: Configuration of the scheduler.
    config: str = ""
    plugins: tuple[str, ...] = ()
    #: Time limit of a command.
    seconds: float = 120.0
    #: Maximum length of a result.
    most_characters: int = 60_000


class ToolAnswer(NamedTuple):
    """Result of a call."""

    text: str
    is_error: bool = False


async def answer(settings: ServerSettings, tool: ToolArguments) -> ToolAnswer:
    """Run the command of the tool. Raises `InputError` for invalid arguments."""
    for path in tool.paths():
        check_path(settings, path)
    with tempfile.TemporaryDirectory(prefix="steersman-mcp-") as folder:
        code, printed, errors = await _run(settings, command_line(settings, tool, Path(folder)))
    if code not in tool.ANSWERS:
        return ToolAnswer(errors.strip().removeprefix("Error: ") or f"ended with exit code {code}", is_error=True)
    document: dict[str, Any] = json.loads(printed)
    notes = [line.removeprefix("Note: ") for line in errors.splitlines() if line.strip()]
    found = {"exitCode": code, **({"notes": notes} if notes else {}), "answer": document}
    return ToolAnswer(bounded_json(found, settings.most_characters))


def check_path(settings: ServerSettings, path: str) -> None:
    """Raise `InputError` for a file that may not be read."""
    roots = [root.resolve() for root in settings.roots]
    try:
        resolved = [Path(path).resolve(), *(entry.resolve() for entry in Path(path).rglob("*") if entry.is_symlink())]
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", file=ascii(path)) from error
    if path == "-" or not all(any(each.is_relative_to(root) for root in roots) for each in resolved):
        below = ", ".join(map(str, settings.roots))
        hint = f"files are read below {below}; `steersman mcp --root` names other folders"
        raise InputError("is not to be read", file=path, hint=hint)


def command_line(settings: ServerSettings, tool: ToolArguments, folder: Path) -> list[str]:
    """Return the arguments of `steersman`; documents of the call are written to the folder. Raises
    `InputError`."""
    return [*tool.COMMAND, *_options(settings, tool, folder), "--output=json", "--", *tool.positional()]


def _options(settings: ServerSettings, tool: ToolArguments, folder: Path) -> Iterator[str]:
    yield from (f"--filename={path}" for path in tool.files)
    if not tool.files:
        if not settings.kubeconfig and "--filename" not in tool.texts():
            raise InputError(NO_CLUSTER, object=f"arguments of {tool.name()}", hint='name "files"')
        yield from _cluster(settings)
    if config := settings.config or tool.OWN_CONFIG:
        yield f"--config={config}"
    for option, text in tool.texts().items():
        file = folder / f"{option.strip('-').replace('=', '-')}.yaml"
        file.write_text(text, encoding="utf-8")
        yield f"{option}={file}"
    yield from (f"--plugin={plugin}" for plugin in settings.plugins)
    yield from tool.options()


def _cluster(settings: ServerSettings) -> Iterator[str]:
    if settings.kubeconfig:
        yield f"--kubeconfig={settings.kubeconfig}"
    if settings.context:
        yield f"--context={settings.context}"


async def _run(settings: ServerSettings, arguments: Sequence[str]) -> tuple[int, bytes, str]:
    """Return exit code, standard output and standard error. Raises `InputError` if the command
    exceeds the time or output limit."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # the folder that the server was started in holds files to be read, not modules
        "-m",
        "steersman",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None, "it is a pipe"
    assert process.stderr is not None, "it is a pipe"
    try:
        async with asyncio.timeout(settings.seconds):
            printed, errors = await asyncio.gather(_read(process.stdout), _read(process.stderr))
            code = await process.wait()
    except TimeoutError as error:
        hint = "ask for less, or start the server with a longer --timeout"
        raise InputError(f"took longer than {settings.seconds:g} seconds", object=arguments[0], hint=hint) from error
    finally:
        await _end(process)
    return code, printed, errors.decode(errors="replace")


async def _read(stream: asyncio.StreamReader) -> bytes:
    """Read the output of a command. Raises `InputError` if it is too long."""
    parts: list[bytes] = []
    while part := await stream.read(2**16):
        parts.append(part)
        if len(parts) * 2**16 > MAX_OUTPUT_BYTES and sum(map(len, parts)) > MAX_OUTPUT_BYTES:
            raise InputError("is too long", object="the answer", hint="ask about fewer pods or nodes")
    return b"".join(parts)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a command that is still running, after its timeout or the cancellation of the call."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


# -- bounded JSON ------------------------------------------------------------------------------------------------------


LENGTHS: Final = (200, 100, 50, 20, 10, 5, 3, 1)
"""Lengths to which lists and maps are truncated, tried in order."""
MAX_STRING_LENGTH: Final = 2000
"""Maximum length of a single string, if truncating lists is not enough."""
MORE: Final = "…"


def bounded_json(document: dict[str, Any], limit: int) -> str:
    """Serialise the document to at most `limit` characters, truncating lists first."""
    text = _text(document)
    for length in LENGTHS:
        if len(text) <= limit:
            return text
        text = _text({"truncated": f"lists and maps have at most {length} entries here", **_cut(document, length)})
    return text if len(text) <= limit else _text({"truncated": f"the answer is longer than {limit} characters"})


def _text(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def _cut(value: Any, length: int) -> Any:
    if isinstance(value, dict):
        kept = {name: _cut(each, length) for name, each in list(value.items())[: max(length, _FIELDS)]}
        left_out = len(value) - len(kept)
        return {**kept, MORE: f"{left_out} more"} if left_out else kept
    if isinstance(value, list):
        cut = [_cut(each, length) for each in value[:length]]
        return [*cut, f"{MORE} {len(value) - length} more"] if len(value) > length else cut
    if isinstance(value, str) and len(value) > MAX_STRING_LENGTH:
        return f"{value[:MAX_STRING_LENGTH]}{MORE}"
    return value


_FIELDS: Final = 25
"""Objects have at most this many fields; larger maps are keyed by names of nodes or pods."""
