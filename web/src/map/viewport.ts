// SPDX-License-Identifier: Apache-2.0
/** Visible part of the map: pixels = (world − origin) × scale. */

export interface Viewport {
  readonly x: number;
  readonly y: number;
  /** Pixels per cell. */
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const LARGEST = 260;
const MARGIN = 14;

/** Cells above the first row that hold a heading, and the height of a heading in pixels. */
const HEADING = 2.25;
const HEADING_PIXELS = 20;

/**
 * Show the whole world, centred, in cells of at most `largest` pixels, without the unused part of the space for
 * headings.
 */
export function fit(world: Size, canvas: Size, largest = 64): Viewport {
  const across = (canvas.width - 2 * MARGIN) / world.width;
  const down = (canvas.height - 2 * MARGIN) / world.height;
  const scale = Math.max(1, Math.min(across, down, largest));
  const empty = Math.max(0, HEADING - HEADING_PIXELS / scale);
  return { scale, x: (world.width - canvas.width / scale) / 2, y: Math.min(empty - MARGIN / scale, (world.height + empty - canvas.height / scale) / 2) };
}

/** Zoom by a factor around a fixed point of the canvas. */
export function zoom(view: Viewport, factor: number, at: { x: number; y: number }, smallest: number): Viewport {
  const scale = Math.min(LARGEST, Math.max(smallest * 0.8, view.scale * factor));
  return { scale, x: view.x + at.x / view.scale - at.x / scale, y: view.y + at.y / view.scale - at.y / scale };
}

export function pan(view: Viewport, dx: number, dy: number): Viewport {
  return { ...view, x: view.x - dx / view.scale, y: view.y - dy / view.scale };
}

/** Show one cell in the middle of the canvas, large enough for its pods. */
export function centredOn(x: number, y: number, canvas: Size, scale: number): Viewport {
  return { scale, x: x + 0.5 - canvas.width / scale / 2, y: y + 0.5 - canvas.height / scale / 2 };
}

/** Move the view as little as possible to show a cell. */
export function reveal(view: Viewport, x: number, y: number, canvas: Size): Viewport {
  const [wide, high] = [canvas.width / view.scale, canvas.height / view.scale];
  const left = Math.min(Math.max(view.x, x + 1 - wide), x);
  const top = Math.min(Math.max(view.y, y + 1 - high), y);
  return { scale: view.scale, x: left, y: top };
}
