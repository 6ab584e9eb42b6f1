// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them. Units: "%" (values from 0 to 1), "s" (durations), "B" (bytes), others as they are.

const DASH = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const fine = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

function plainNumber(value) {
  if (Number.isInteger(value)) return whole.format(value);
  return Math.abs(value) < 1 ? fine.format(value) : precise.format(value);
}

function percent(value) {
  const hundredths = value * 100;
  const digits = Math.abs(hundredths) < 10 && !Number.isInteger(hundredths) ? 1 : 0;
  return `${Number(hundredths.toFixed(digits))} %`;
}

/** `350 ms`, `12.5 s`, `3m 20s`, `2h 5m`, `3d 4h`: the two largest parts. */
function duration(seconds) {
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds === 0) return "0 s";
  if (seconds < 1) return `${fine.format(seconds * 1000)} ms`;
  if (seconds < 60) return `${precise.format(seconds)} s`;
  const rest = Math.round(seconds);
  const parts = [["d", Math.floor(rest / 86400)], ["h", Math.floor(rest / 3600) % 24], ["m", Math.floor(rest / 60) % 60], ["s", rest % 60]];
  const first = parts.findIndex(([, count]) => count > 0);
  return parts.slice(first, first + 2).filter(([, count]) => count > 0).map(([unit, count]) => `${count}${unit}`).join(" ");
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let place = 0;
  let amount = value;
  while (Math.abs(amount) >= 1024 && place < units.length - 1) {
    amount /= 1024;
    place += 1;
  }
  return `${precise.format(amount)} ${units[place]}`;
}

/** A value of a table or a chart with its unit; a dash for what there is no value of. */
function formatted(value, unit) {
  if (value === null || value === undefined) return DASH;
  if (typeof value !== "number") return String(value);
  if (unit === "%") return percent(value);
  if (unit === "s") return duration(value);
  if (unit === "B") return bytes(value);
  return unit ? `${plainNumber(value)} ${unit}` : plainNumber(value);
}

function counted(count, noun) {
  return `${whole.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}
