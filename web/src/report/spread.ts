// SPDX-License-Identifier: Apache-2.0
/** Five numbers that tell how values are spread. */

export interface Spread {
  readonly least: number;
  readonly lower: number;
  readonly median: number;
  readonly upper: number;
  readonly most: number;
}

/** The extremes, the quartiles and the median, interpolated between values; null if there is no value. */
export function spread(values: readonly number[]): Spread | null {
  const sorted = [...values].sort((one, other) => one - other);
  if (!sorted.length) return null;
  const at = (share: number): number => {
    const place = share * (sorted.length - 1);
    const low = sorted[Math.floor(place)] ?? 0;
    return low + ((sorted[Math.ceil(place)] ?? low) - low) * (place - Math.floor(place));
  };
  return { least: at(0), lower: at(0.25), median: at(0.5), upper: at(0.75), most: at(1) };
}
