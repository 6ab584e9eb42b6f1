// SPDX-License-Identifier: Apache-2.0
/**
 * Colours of the map. Amounts use a scale of monotonic lightness (as viridis), kinds the eight colours of Okabe and
 * Ito: both are distinguishable with colour blindness and in grey.
 */

export const STEPS = 24;

const LIGHT = ["#eaf0ea", "#c5e4bf", "#86cfba", "#45b3c2", "#228dbd", "#245ea6", "#102a78"] as const;
const DARK = ["#22303c", "#1f4a6b", "#206f8e", "#2f989b", "#66bd8b", "#b9db85", "#fdf6b2"] as const;
const KINDS_LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b58100", "#56b4e9", "#7a5a44", "#6b747c"] as const;
const KINDS_DARK = ["#55aee8", "#ff8f57", "#35c99b", "#e597cf", "#f0bd45", "#9bd2f5", "#c9a489", "#a9b4bd"] as const;

export interface Palette {
  /** `STEPS` colours from empty to full. */
  readonly scale: readonly string[];
  readonly kinds: readonly string[];
  /** Colour of overcommitted or rejecting nodes. */
  readonly over: string;
  readonly yes: string;
  readonly none: string;
  readonly grid: string;
  readonly text: string;
  readonly quiet: string;
  readonly paper: string;
  readonly raised: string;
  readonly accent: string;
}

export function palette(dark: boolean): Palette {
  return dark
    ? { scale: scale(DARK), kinds: KINDS_DARK, over: "#ff6b5e", yes: "#35c99b", none: "#1c262f", grid: "#33414d", text: "#e6ecf1", quiet: "#9fadb9", paper: "#10161c", raised: "#18212a", accent: "#6fb7f2" }
    : { scale: scale(LIGHT), kinds: KINDS_LIGHT, over: "#c62828", yes: "#008463", none: "#f2f4f6", grid: "#d9e0e6", text: "#17212b", quiet: "#56646f", paper: "#f5f7f9", raised: "#ffffff", accent: "#0b63b0" };
}

/** Return evenly spaced steps between the colours of a ramp. */
function scale(ramp: readonly string[]): string[] {
  return Array.from({ length: STEPS }, (_, step) => {
    const place = (step / (STEPS - 1)) * (ramp.length - 1);
    const low = Math.min(Math.floor(place), ramp.length - 2);
    return mix(ramp[low] ?? "#000000", ramp[low + 1] ?? "#000000", place - low);
  });
}

function mix(from: string, to: string, share: number): string {
  const channel = (at: number) => {
    const [a, b] = [parseInt(from.slice(at, at + 2), 16), parseInt(to.slice(at, at + 2), 16)];
    return Math.round(a + (b - a) * share).toString(16).padStart(2, "0");
  };
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}

/** Return the step of a share between 0 and 1; `STEPS` for more. */
export function stepOf(share: number): number {
  if (share > 1.0000001) return STEPS;
  return Math.min(STEPS - 1, Math.max(0, Math.floor(share * STEPS)));
}
