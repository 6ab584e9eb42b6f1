# SPDX-License-Identifier: Apache-2.0
"""Programs that talk to a real cluster: `steersman run`, `shadow` and `doctor`.

`app` is `steersman run`: start-up, leadership, and the scheduling and control threads. `shadow`
repeats and compares the decisions of another scheduler. `doctor` checks rights, leases and
configuration.

May import everything except `testing` and `cli`.
"""
