# SPDX-License-Identifier: Apache-2.0
"""`steersman mcp`: explain, plan and simulate as tools of a local server of the Model Context
Protocol, for assistants.

    arguments of a tool (`tools`) ─► `steersman … -o json` as a process (`command`) ─► JSON of bounded size

`server` speaks the protocol over standard input and output, with the official `mcp` package. Every
tool is a command that only reads, so nothing can be written to a cluster; a tool can do no more
than its command.
"""
