// SPDX-License-Identifier: Apache-2.0
/** Colours of the series of a chart, by their place. */
const COLOURS = 8;

export function lineColour(place: number): string {
  return `--line-${(place % COLOURS) + 1}`;
}
