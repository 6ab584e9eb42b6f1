# SPDX-License-Identifier: Apache-2.0
"""The MCP server: lists and calls tools over standard input and output, with the official `mcp`
package.

Invalid arguments, unreadable files and unreachable clusters are reported as results, on which an
assistant can act; protocol errors are handled by the package.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Final

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from steersman.base import InputError, SteersmanError, steersman_version
from steersman.cli.mcp_server.command import ServerSettings, ToolAnswer, answer
from steersman.cli.mcp_server.tools import TOOLS, ToolArguments

MAX_CONCURRENT_CALLS: Final = 2
"""Maximum number of concurrent commands."""
INSTRUCTIONS: Final = (
    "Steersman is the Kubernetes scheduler as a Python package: kube-scheduler's decisions, simulated exactly. All tools only "
    "read. They answer about files (manifests or dumps of a cluster) or about the live cluster of the server's kubeconfig. "
    "Answers are JSON: exitCode, notes, and the command's own document under answer."
)


def new_server(settings: ServerSettings) -> Server[Any]:
    """Return a server of the tools, to be run on a transport."""
    turns = asyncio.Semaphore(MAX_CONCURRENT_CALLS)

    async def list_tools(_: Any, __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(name, tool) for name, tool in TOOLS.items()])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        async with turns:
            found = await _answered(settings, params.name, params.arguments or {})
        return types.CallToolResult(content=[types.TextContent(text=found.text)], is_error=found.is_error)

    return Server(
        "steersman",
        version=steersman_version(),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def serve(settings: ServerSettings) -> None:
    """Serve one client on standard input and output until it disconnects."""
    server = new_server(settings)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _tool(name: str, tool: type[ToolArguments]) -> types.Tool:
    hints = types.ToolAnnotations(
        title=tool.TITLE, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    description = " ".join(inspect.cleandoc(tool.__doc__ or "").split())
    return types.Tool(
        name=name, title=tool.TITLE, description=description, input_schema=tool.input_schema(), annotations=hints
    )


async def _answered(settings: ServerSettings, name: str, arguments: dict[str, Any]) -> ToolAnswer:
    try:
        if name not in TOOLS:
            raise InputError("is not a tool", value=name, hint=f"there are: {', '.join(TOOLS)}")
        return await answer(settings, TOOLS[name].decoded(arguments))
    except SteersmanError as error:
        return ToolAnswer(str(error), is_error=True)
