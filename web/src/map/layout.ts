// SPDX-License-Identifier: Apache-2.0
/**
 * Position of every node on the map: groups are blocks of square cells, placed in rows like words in a paragraph. World
 * coordinates, in which a cell measures one by one; the viewport maps them to pixels.
 */

export interface Block {
  readonly name: string;
  readonly x: number;
  readonly y: number;
  readonly columns: number;
  readonly rows: number;
  /** Rows of the node table in drawing order. */
  readonly members: Int32Array;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  readonly blocks: readonly Block[];
  /** Position of a node's cell by its row, or NaN. */
  readonly x: Float32Array;
  readonly y: Float32Array;
}

const HEADER = 2.25;
const GAP = 1.5;

/** Tried widths of a row of blocks, relative to the width for the canvas's aspect ratio. */
const WIDTHS = [0.8, 0.9, 1, 1.1, 1.2, 1.35, 1.5, 1.75, 2, 2.5] as const;
/** Aspect ratios of a block. */
const SHAPES = [0.6, 1, 1.6, 2.5, 4] as const;

/**
 * Lay out groups for a canvas of the given aspect ratio, with the largest possible cells. `capacity` is the number of
 * rows of the node table.
 */
export function layOut(groups: ReadonlyMap<string, readonly number[]>, capacity: number, proportion: number): Layout {
  const names = [...groups.keys()].sort(byNumberThenName);
  const members = names.map((name) => Int32Array.from(groups.get(name) ?? []));
  const cells = members.reduce((sum, group) => sum + group.length, 0);
  const ideal = Math.max(4, Math.sqrt(Math.max(1, cells) * proportion));
  let best = pack(names, members, ideal, 1);
  for (const width of WIDTHS) {
    for (const shape of SHAPES) {
      const other = pack(names, members, ideal * width, shape);
      if (cellSize(other, proportion) > cellSize(best, proportion)) best = other;
    }
  }
  const [x, y] = [new Float32Array(capacity).fill(NaN), new Float32Array(capacity).fill(NaN)];
  for (const block of best.blocks) place(block, x, y);
  return { ...best, x, y };
}

type Packing = Omit<Layout, "x" | "y">;

/** Return the size of a cell on a canvas of height 1 that shows everything. */
function cellSize(packing: Packing, proportion: number): number {
  return Math.min(proportion / packing.width, 1 / packing.height);
}

/** Arrange blocks in rows no wider than `wanted`. */
function pack(names: readonly string[], members: readonly Int32Array[], wanted: number, shape: number): Packing {
  const blocks: Block[] = [];
  let [left, top, tallest, width] = [0, 0, 0, 0];
  members.forEach((group, index) => {
    const columns = Math.max(4, Math.min(Math.ceil(Math.sqrt(group.length * shape)), Math.ceil(wanted)));
    const rows = Math.ceil(group.length / columns);
    if (left > 0 && left + columns > wanted) {
      top += tallest + GAP;
      [left, tallest] = [0, 0];
    }
    blocks.push({ name: names[index] ?? "", x: left, y: top, columns, rows, members: group });
    left += columns + GAP;
    tallest = Math.max(tallest, rows + HEADER);
    width = Math.max(width, left - GAP);
  });
  return { width: Math.max(width, 1), height: Math.max(top + tallest, 1), blocks };
}

function place(block: Block, x: Float32Array, y: Float32Array): void {
  block.members.forEach((row, index) => {
    x[row] = block.x + (index % block.columns);
    y[row] = block.y + HEADER + Math.floor(index / block.columns);
  });
}

/** Return the node whose cell contains a point of the world, or -1. */
export function nodeAt(layout: Layout, x: number, y: number): number {
  for (const block of layout.blocks) {
    const column = Math.floor(x - block.x);
    const line = Math.floor(y - block.y - HEADER);
    if (column < 0 || column >= block.columns || line < 0 || line >= block.rows) continue;
    return block.members[line * block.columns + column] ?? -1;
  }
  return -1;
}

/** Return the next node in a direction, for the arrow keys; the same node if there is none. */
export function neighbour(layout: Layout, row: number, dx: number, dy: number): number {
  const [x, y] = [(layout.x[row] ?? NaN) + 0.5, (layout.y[row] ?? NaN) + 0.5];
  if (Number.isNaN(x)) return layout.blocks[0]?.members[0] ?? -1;
  const direct = nodeAt(layout, x + dx, y + dy);
  return direct >= 0 ? direct : nearestBeyond(layout, row, x, y, dx, dy);
}

function nearestBeyond(layout: Layout, row: number, x: number, y: number, dx: number, dy: number): number {
  let [best, least] = [row, Infinity];
  for (let other = 0; other < layout.x.length; other += 1) {
    const [across, down] = [(layout.x[other] ?? NaN) + 0.5 - x, (layout.y[other] ?? NaN) + 0.5 - y];
    const ahead = across * dx + down * dy;
    if (!(ahead > 0.5)) continue;
    const aside = Math.abs(across * dy) + Math.abs(down * dx);
    const distance = ahead + 3 * aside;
    if (distance < least) [best, least] = [other, distance];
  }
  return best;
}

function byNumberThenName(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}
