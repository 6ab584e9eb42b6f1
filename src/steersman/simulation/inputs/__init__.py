# SPDX-License-Identifier: Apache-2.0
"""Input of a simulation: files and values, stand-ins for parts missing in a dump, changes.

Read `sources` (reads), `intake` (stores), `changes` (updates and patches). `workloads` and `intake`
make stand-ins, `object_names` parses names. May import `node_pools`.
"""
