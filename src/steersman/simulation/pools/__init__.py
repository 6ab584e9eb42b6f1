# SPDX-License-Identifier: Apache-2.0
"""Kinds of nodes that there may be more of, and what nodes cost.

Read `node_pools`; `node_costs` reads prices from annotations. May import nothing of `simulation`.
"""
