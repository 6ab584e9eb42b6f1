// SPDX-License-Identifier: Apache-2.0
/**
 * Draws the map on one canvas. Every group is an image of one pixel per node and is drawn enlarged, so that a frame
 * costs a few copies of rectangles for any number of nodes; a changed node writes one pixel. Names, bars and pods are
 * drawn for visible nodes that are large enough.
 */
import { grouped } from "../formats";
import type { NodeTable } from "../state/node_table";
import type { Palette } from "./colours";
import type { Block, Layout } from "./layout";
import type { PodBoxes } from "./pod_boxes";
import type { Shades } from "./shades";
import type { Size, Viewport } from "./viewport";

const GRID_FROM = 5;
const MARKS_FROM = 7;
export const BARS_FROM = 44;
export const PODS_FROM = 84;

export interface Scene {
  /** What is drawn in large cells; without, cells are only coloured. */
  readonly nodes: NodeTable | null;
  readonly layout: Layout;
  readonly shades: Shades;
  readonly palette: Palette;
  readonly boxes: PodBoxes | null;
}

export interface Pointed {
  readonly hovered: number;
  readonly selected: number;
}

interface Picture {
  readonly canvas: HTMLCanvasElement;
  readonly pen: CanvasRenderingContext2D;
  readonly image: ImageData;
  readonly pixels: Uint32Array;
  changed: boolean;
}

/** Pixels of one scene; recreated when groups, colours or the theme change. */
export class Painter {
  private readonly pictures: Picture[];
  private readonly places = new Map<number, { picture: Picture; index: number }>();
  private readonly colours = new Map<string, number>();

  constructor(readonly scene: Scene) {
    this.pictures = scene.layout.blocks.map((block) => this.picture(block));
  }

  /** Mark the rows as changed. */
  update(rows: Iterable<number>): void {
    for (const row of rows) {
      const place = this.places.get(row);
      if (!place) continue;
      const pixel = this.pixel(this.scene.shades.colour(row));
      if (place.picture.pixels[place.index] === pixel) continue;
      place.picture.pixels[place.index] = pixel;
      place.picture.changed = true;
    }
  }

  draw(pen: CanvasRenderingContext2D, canvas: Size, view: Viewport, density: number, pointed: Pointed): void {
    const { layout, palette } = this.scene;
    pen.setTransform(density, 0, 0, density, 0, 0);
    pen.fillStyle = palette.raised;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.imageSmoothingEnabled = false;
    layout.blocks.forEach((block, index) => this.drawBlock(pen, canvas, view, block, index));
    for (const row of [pointed.hovered, pointed.selected]) this.outline(pen, view, row, row === pointed.selected);
  }

  private drawBlock(pen: CanvasRenderingContext2D, canvas: Size, view: Viewport, block: Block, index: number): void {
    const picture = this.pictures[index];
    const top = this.scene.layout.y[block.members[0] ?? -1] ?? block.y;
    const x = (block.x - view.x) * view.scale;
    const y = (top - view.y) * view.scale;
    const width = block.columns * view.scale;
    const height = block.rows * view.scale;
    const header = (top - block.y) * view.scale;
    if (!picture || x > canvas.width || y > canvas.height || x + width < 0 || y + height < 0) return;
    if (picture.changed) picture.pen.putImageData(picture.image, 0, 0);
    picture.changed = false;
    this.heading(pen, block, x, y, Math.max(width, 40), header);
    pen.drawImage(picture.canvas, x, y, width, height);
    if (view.scale >= GRID_FROM) this.grid(pen, canvas, view.scale, x, y, block);
    const { nodes } = this.scene;
    if (nodes && view.scale >= MARKS_FROM) this.visible(canvas, view, block, top, (row, left, down) => this.cell(pen, nodes, row, left, down, view.scale));
  }

  private heading(pen: CanvasRenderingContext2D, block: Block, x: number, y: number, width: number, room: number): void {
    if (room < 9) return;
    const size = Math.min(12, room * 0.7);
    pen.font = `600 ${size}px system-ui, sans-serif`;
    pen.textBaseline = "alphabetic";
    pen.fillStyle = this.scene.palette.text;
    const left = Math.max(x, 6);
    pen.fillText(`${block.name}`, left, y - Math.max(3, size * 0.35), width);
    const end = pen.measureText(block.name).width;
    if (end + 40 > width) return;
    pen.font = `${size}px system-ui, sans-serif`;
    pen.fillStyle = this.scene.palette.quiet;
    pen.fillText(grouped(block.members.length), left + end + size * 0.6, y - Math.max(3, size * 0.35));
  }

  /** Draw the lines between the cells, in the background colour. */
  private grid(pen: CanvasRenderingContext2D, canvas: Size, scale: number, x: number, y: number, block: Block): void {
    const thick = scale >= 14 ? 2 : 1;
    const bottom = Math.min(canvas.height, y + block.rows * scale);
    const right = Math.min(canvas.width, x + block.columns * scale);
    pen.fillStyle = this.scene.palette.raised;
    for (let column = Math.max(0, Math.floor(-x / scale)); column <= block.columns && x + column * scale <= canvas.width; column += 1) {
      pen.fillRect(x + column * scale - thick / 2, Math.max(0, y), thick, bottom - Math.max(0, y));
    }
    for (let row = Math.max(0, Math.floor(-y / scale)); row <= block.rows && y + row * scale <= canvas.height; row += 1) {
      pen.fillRect(Math.max(0, x), y + row * scale - thick / 2, right - Math.max(0, x), thick);
    }
  }

  private visible(canvas: Size, view: Viewport, block: Block, top: number, each: (row: number, x: number, y: number) => void): void {
    const firstColumn = Math.max(0, Math.floor(view.x - block.x));
    const lastColumn = Math.min(block.columns - 1, Math.floor(view.x + canvas.width / view.scale - block.x));
    const firstLine = Math.max(0, Math.floor(view.y - top));
    const lastLine = Math.min(block.rows - 1, Math.floor(view.y + canvas.height / view.scale - top));
    for (let line = firstLine; line <= lastLine; line += 1) {
      for (let column = firstColumn; column <= lastColumn; column += 1) {
        const row = block.members[line * block.columns + column];
        if (row !== undefined) each(row, (block.x + column - view.x) * view.scale, (top + line - view.y) * view.scale);
      }
    }
  }

  /** Rows in view, for callers that show more about them. */
  rowsInView(canvas: Size, view: Viewport): number[] {
    const rows: number[] = [];
    for (const block of this.scene.layout.blocks) {
      this.visible(canvas, view, block, this.scene.layout.y[block.members[0] ?? -1] ?? block.y, (row) => rows.push(row));
    }
    return rows;
  }

  private cell(pen: CanvasRenderingContext2D, nodes: NodeTable, row: number, x: number, y: number, scale: number): void {
    const { boxes, palette } = this.scene;
    if (nodes.unschedulable[row] || !nodes.ready[row]) this.mark(pen, x, y, scale, nodes.ready[row] ? palette.text : palette.over);
    if (scale < BARS_FROM) return;
    pen.fillStyle = palette.raised;
    pen.fillRect(x + 3, y + 3, scale - 6, scale - 6);
    this.name(pen, nodes, row, x, y, scale);
    if (scale >= PODS_FROM && boxes?.draw(pen, nodes.names[row] ?? "", x + 5, y + 18, scale - 10, scale - 22, palette)) return;
    this.bars(pen, nodes, row, x + 6, y + 19, scale - 12, scale - 24);
  }

  /** Draw a slash over a cordoned node, or over a node that is not ready, in the error colour. */
  private mark(pen: CanvasRenderingContext2D, x: number, y: number, scale: number, colour: string): void {
    pen.strokeStyle = colour;
    pen.lineWidth = scale >= 14 ? 1.5 : 1;
    pen.beginPath();
    pen.moveTo(x + scale * 0.2, y + scale * 0.8);
    pen.lineTo(x + scale * 0.8, y + scale * 0.2);
    pen.stroke();
  }

  private name(pen: CanvasRenderingContext2D, nodes: NodeTable, row: number, x: number, y: number, scale: number): void {
    const { palette } = this.scene;
    const name = nodes.names[row] ?? "";
    const room = Math.max(4, Math.floor((scale - 10) / 5.4));
    pen.font = "10px system-ui, sans-serif";
    pen.textBaseline = "alphabetic";
    pen.fillStyle = nodes.unschedulable[row] || !nodes.ready[row] ? palette.over : palette.text;
    pen.fillText(name.length > room ? `…${name.slice(1 - room)}` : name, x + 6, y + 14);
  }

  /** Draw a bar with the requested share for each resource. */
  private bars(pen: CanvasRenderingContext2D, nodes: NodeTable, row: number, x: number, y: number, width: number, height: number): void {
    const { palette } = this.scene;
    const names = [...nodes.resources.filter((_, at) => (nodes.allocatable[at]?.[row] ?? 0) > 0), "pods"];
    const shown = names.slice(0, Math.max(1, Math.floor(height / 9)));
    const step = Math.min(14, height / shown.length);
    shown.forEach((resource, index) => {
      const share = nodes.utilisation(row, resource);
      pen.fillStyle = palette.grid;
      pen.fillRect(x, y + index * step, width, step - 3);
      pen.fillStyle = share > 1 ? palette.over : palette.accent;
      pen.fillRect(x, y + index * step, width * Math.min(1, share), step - 3);
    });
  }

  private outline(pen: CanvasRenderingContext2D, view: Viewport, row: number, selected: boolean): void {
    const [x, y] = [this.scene.layout.x[row] ?? NaN, this.scene.layout.y[row] ?? NaN];
    if (Number.isNaN(x)) return;
    pen.strokeStyle = selected ? this.scene.palette.accent : this.scene.palette.text;
    pen.lineWidth = selected ? 2.5 : 1.5;
    pen.strokeRect((x - view.x) * view.scale - 1, (y - view.y) * view.scale - 1, view.scale + 2, view.scale + 2);
  }

  private picture(block: Block): Picture {
    const canvas = document.createElement("canvas");
    canvas.width = block.columns;
    canvas.height = Math.max(1, block.rows);
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    if (!pen) throw new Error("this browser draws no canvas");
    const image = pen.createImageData(canvas.width, canvas.height);
    const picture = { canvas, pen, image, pixels: new Uint32Array(image.data.buffer), changed: true };
    block.members.forEach((row, index) => {
      picture.pixels[index] = this.pixel(this.scene.shades.colour(row));
      this.places.set(row, { picture, index });
    });
    return picture;
  }

  /** Convert `#rrggbb` to a pixel in the byte order of browsers: red, green, blue, opaque. */
  private pixel(colour: string): number {
    const known = this.colours.get(colour);
    if (known !== undefined) return known;
    const value = parseInt(colour.slice(1), 16);
    const pixel = (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
    this.colours.set(colour, pixel);
    return pixel;
  }
}
