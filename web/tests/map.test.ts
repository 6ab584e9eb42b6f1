// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { palette, STEPS, stepOf } from "../src/map/colours";
import { layOut, neighbour, nodeAt } from "../src/map/layout";
import { arrange } from "../src/map/pod_boxes";
import { placementShades, taintShades, utilisationShades } from "../src/map/shades";
import { fit, pan, reveal, zoom } from "../src/map/viewport";
import { NodeTable } from "../src/state/node_table";
import { smallCluster } from "./snapshot";

const groups = new Map([
  ["pool-10", Array.from({ length: 50 }, (_, index) => index)],
  ["pool-2", Array.from({ length: 30 }, (_, index) => 50 + index)],
]);

describe("the layout", () => {
  const layout = layOut(groups, 80, 2);

  it("gives every node a cell of its own, inside the world", () => {
    const cells = new Set(Array.from({ length: 80 }, (_, row) => `${layout.x[row]} ${layout.y[row]}`));
    expect(cells.size).toBe(80);
    for (let row = 0; row < 80; row += 1) {
      expect((layout.x[row] ?? NaN) + 1).toBeLessThanOrEqual(layout.width);
      expect((layout.y[row] ?? NaN) + 1).toBeLessThanOrEqual(layout.height);
    }
  });

  it("finds the node of a point", () => {
    for (let row = 0; row < 80; row += 1) expect(nodeAt(layout, (layout.x[row] ?? 0) + 0.5, (layout.y[row] ?? 0) + 0.5)).toBe(row);
    expect(nodeAt(layout, -1, -1)).toBe(-1);
  });

  it("orders groups by number, not by digit", () => {
    expect(layout.blocks.map((block) => block.name)).toEqual(["pool-2", "pool-10"]);
  });

  it("lets the arrow keys reach every node", () => {
    const reached = new Set([neighbour(layout, -1, 1, 0)]);
    for (let round = 0; round < 80; round += 1) {
      for (const row of [...reached]) for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]] as const) reached.add(neighbour(layout, row, dx, dy));
    }
    expect(reached.size).toBe(80);
  });
});

describe("the viewport", () => {
  const canvas = { width: 800, height: 400 };

  it("shows the whole world", () => {
    const view = fit({ width: 100, height: 20 }, canvas);
    expect(view.x * view.scale).toBeLessThanOrEqual(0);
    expect((100 - view.x) * view.scale).toBeLessThanOrEqual(800);
    expect((20 - view.y) * view.scale).toBeLessThanOrEqual(400);
  });

  it("keeps the point under the pointer when zooming", () => {
    const before = fit({ width: 100, height: 20 }, canvas);
    const at = { x: 300, y: 120 };
    const after = zoom(before, 2, at, before.scale);
    expect(after.x + at.x / after.scale).toBeCloseTo(before.x + at.x / before.scale);
    expect(after.y + at.y / after.scale).toBeCloseTo(before.y + at.y / before.scale);
  });

  it("moves with the pointer, and only as far as needed to show a cell", () => {
    const view = { x: 0, y: 0, scale: 10 };
    expect(pan(view, 20, -10)).toEqual({ x: -2, y: 1, scale: 10 });
    expect(reveal(view, 5, 5, canvas)).toEqual(view);
    expect(reveal(view, 90, 5, canvas)).toEqual({ x: 11, y: 0, scale: 10 });
  });
});

describe("colours", () => {
  it("has a step for every share and one for more than all", () => {
    expect([stepOf(0), stepOf(0.999), stepOf(1), stepOf(1.5)]).toEqual([0, STEPS - 1, STEPS - 1, STEPS]);
  });

  it("says how full a node is, and which is overfull", () => {
    const [table, colours] = [new NodeTable(smallCluster()), palette(false)];
    const shades = utilisationShades(table, "cpu", colours);
    expect(shades.colour(1)).toBe(colours.scale[0]);
    expect(shades.colour(3)).toBe(colours.scale[STEPS - 1]);
    expect(shades.text(0)).toBe("25 % of cpu requested");
  });

  it("gives sets of taints a colour each, and a legend with counts", () => {
    const shades = taintShades(new NodeTable(smallCluster()), palette(true));
    expect(shades.colour(0)).not.toBe(shades.colour(3));
    expect(shades.legend.map((entry) => entry.text)).toEqual(["no taint", "gpu:NoSchedule (1)"]);
  });

  it("is recoloured by where a trial places pods, on one scale for both sides", () => {
    const decisions = [["a", "a"], ["a", "b"], ["a", "b"]].map(([a = "", b = ""], at) => ({ pod: `default/p${at}`, at, a, b, same: a === b }));
    const [before, after] = (["a", "b"] as const).map((side) => placementShades(new NodeTable(smallCluster()), decisions, side, palette(false)));
    expect(before?.text(0)).toBe("3 pods here, 1 as edited");
    expect(after?.text(1)).toBe("2 pods here, 0 as decided");
    expect(before?.colour(0)).not.toBe(after?.colour(0));
    expect(before?.colour(1)).toBe(palette(false).none);
    expect(before?.scale).toEqual(after?.scale);
  });
});

it("arranges pods inside their node without overlap", () => {
  const boxes = arrange(Array.from({ length: 37 }, (_, index) => `default/p${index}`), 90, 60);
  for (const box of boxes) {
    expect(box.x + box.width).toBeLessThanOrEqual(90);
    expect(box.y + box.height).toBeLessThanOrEqual(60.001);
  }
  expect(new Set(boxes.map((box) => `${box.x} ${box.y}`)).size).toBe(37);
});
