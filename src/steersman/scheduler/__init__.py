# SPDX-License-Identifier: Apache-2.0
"""The Kubernetes scheduler without I/O: objects and time go in, decisions and requests come out.

Read in this order: `assembly` (the `Scheduler`: what the parts are and how they are connected),
`ingest` (watch events become changes of state and queue), `queue`, `state` (nodes and pods as
columns), `cycle` (one pod: filter, score, choose, assume), `engine` (vectorised evaluation of a
cycle), `runtime` (plugins of a profile), `plugins` (the in-tree plugins, one folder each),
`preemption`, `binding`. `host` runs a scheduler in an event loop or in virtual time; `diagnosis`
turns a cycle into an `Explanation` (nodes x plugins) and a cause; `what_if` answers questions about
decisions without effects.

May import `framework`, `config`, `api` and `base`. The order of the sub-packages is enforced by
import-linter.
"""
