# SPDX-License-Identifier: Apache-2.0
"""Input of a simulation: files and values, stand-ins for parts missing in a dump, changes.

Read `sources` (reads), `intake` (stores), `changes` (updates and patches). `workloads` and
`storage_classes` make stand-ins, `object_names` parses names. May import `pools`.
"""
