# SPDX-License-Identifier: Apache-2.0
"""An extender: keeps pods off nodes in maintenance and prefers those with the most free licences. Run it: python extender.py"""

from aiohttp import web


async def filter_nodes(request: web.Request) -> web.Response:
    args = await request.json()
    fit, failed = [], {}
    for node in args["Nodes"]["items"]:
        if node["metadata"].get("labels", {}).get("maintenance") == "true":
            failed[node["metadata"]["name"]] = "node is in maintenance"
        else:
            fit.append(node)
    return web.json_response({"Nodes": {"items": fit}, "FailedAndUnresolvableNodes": failed})


async def prioritize(request: web.Request) -> web.Response:
    args = await request.json()
    nodes = [node["metadata"] for node in args["Nodes"]["items"]]
    licences = {node["name"]: int(node.get("labels", {}).get("free-licences", "0")) for node in nodes}
    return web.json_response([{"Host": name, "Score": min(10, free)} for name, free in licences.items()])


app = web.Application()
app.add_routes([web.post("/filter", filter_nodes), web.post("/prioritize", prioritize)])

if __name__ == "__main__":
    web.run_app(app, host="127.0.0.1", port=8888)
