# SPDX-License-Identifier: Apache-2.0
"""Declarations of in-tree plugins: name, extension points, default weight, gate, arguments.

Read `in_tree` first: the table of declarations, in the order of the default profile. A plugin with
arguments has a module here with a subclass of `arguments.PluginArgs`: fields and defaults, their
names in documents, and validation. Imports only `steersman.api` and the modules of `config` that
read fields and report errors.
"""
