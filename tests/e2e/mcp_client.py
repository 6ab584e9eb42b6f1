# SPDX-License-Identifier: Apache-2.0
"""A client of the official `mcp` package, in the environment that has it: starts a server, calls tools, prints what it got.

python tests/e2e/mcp_client.py SERVER…      # standard input: a JSON list of [tool, arguments]; standard output: JSON
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters


async def main(command: list[str], calls: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """The tools that there are, and the result of each call."""
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ), cwd=os.getcwd())
    async with Client(server) as client:
        listed = await client.list_tools()
        results = [await client.call_tool(name, arguments) for name, arguments in calls]
    tools = {tool.name: tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools}
    found = [{"isError": bool(result.is_error), "text": result.content[0].text} for result in results]
    return {"tools": tools, "results": found}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1:], json.load(sys.stdin)))))
