# SPDX-License-Identifier: Apache-2.0
"""Results of a simulation: where pods are, how full nodes are, and how both changed over time.

Read `result`; `simulation.result_builder` makes it. `placements`, `utilisation`, `series` and `namespaces` are parts of a
result; `frames`, `notebook` and `series_charts` show it; `confidence` compares results of several seeds;
`explanation_recorder` explains decisions. May import `virtual_time`, which samples for `series` and `pod_times`, `inputs` and
`pools`.
"""
