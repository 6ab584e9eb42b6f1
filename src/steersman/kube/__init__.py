# SPDX-License-Identifier: Apache-2.0
"""The connection to a real API server, and what a program serves on its ports.

`http`: HTTP/1.1 and HTTP/2 client. `client`: credentials, list and watch, leader election, writes,
events; the path of a request is in `client.requests`. `serving`: HTTP server, with authentication
for probes, metrics and pages. `observe`: metrics, decision log, debugger pages.

May import `scheduler` and what that may import.
"""
