// SPDX-License-Identifier: Apache-2.0
/**
 * Answers in an interactive report: compressed blocks, unpacked on demand, so that a file with 20,000 pods opens as
 * fast as a small one. Block 0 has the block number of every path.
 */
import type { FileData } from "./types";

export type Answers = (path: string) => Promise<unknown>;
/** Return the text of an element by its id, or null. */
export type Parts = (id: string) => string | null;

const DATA_ID = "steersman-data";
const BLOCK_ID = "steersman-block-";
const BLOCKS_KEPT = 6;

type Block = Readonly<Record<string, unknown>>;

export class ReportFile {
  private readonly kept = new Map<number, Promise<Block>>();

  private constructor(
    private readonly parts: Parts,
    readonly data: FileData,
  ) {}

  /** Return the report, or null if the page is not a report. */
  static of(parts: Parts): ReportFile | null {
    const text = parts(DATA_ID);
    return text ? new ReportFile(parts, JSON.parse(text) as FileData) : null;
  }

  /** Return the answer to a path without parameters, or undefined. */
  readonly answer: Answers = async (path) => {
    const index = await this.block(0);
    const place = index[path];
    return typeof place === "number" ? (await this.block(place))[path] : undefined;
  };

  private block(place: number): Promise<Block> {
    const known = this.kept.get(place) ?? unpacked(this.parts(`${BLOCK_ID}${place}`) ?? "");
    this.kept.delete(place);
    this.kept.set(place, known);
    const oldest = [...this.kept.keys()].find((one) => one !== 0);
    if (this.kept.size > BLOCKS_KEPT && oldest !== undefined) this.kept.delete(oldest);
    return known;
  }
}

/** The parts of the current page. */
export function partsOfPage(page: Document): Parts {
  return (id) => page.getElementById(id)?.textContent ?? null;
}

/** Return the parts of a report as text, not as markup. */
export function partsOfText(html: string): Parts {
  return (id) => {
    const mark = `id="${id}">`;
    const begin = html.indexOf(mark);
    return begin < 0 ? null : html.slice(begin + mark.length, html.indexOf("</script>", begin));
  };
}

/** Decode JSON, compressed by gzip, in base64. */
async function unpacked(text: string): Promise<Block> {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as Block;
}
