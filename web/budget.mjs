// SPDX-License-Identifier: Apache-2.0
/** Fails the build when the page outgrows its budget or would load something from elsewhere. */
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const LIMIT = 400_000;
const folder = new URL("../src/steersman/sandbox/web/page/", import.meta.url);
const EXPECTED = ["assets/app.css", "assets/app.js", "assets/yaml_editor.js", "favicon.svg", "index.html"];

const names = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(fileURLToPath(folder), join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
  .sort();
const problems = [];
let total = 0;
for (const name of names) {
  const bytes = readFileSync(new URL(name, folder));
  const size = gzipSync(bytes, { level: 9 }).length;
  total += size;
  console.log(`${name.padEnd(22)} ${String(size).padStart(8)} bytes gzipped`);
  if (name === "assets/app.js" && /\bfrom\s*["']\.|\bimport\s*["']/.test(bytes.toString())) problems.push("app.js imports another file at once: a report file carries app.js alone");
  if (name === "assets/app.js" && bytes.includes("</script")) problems.push("app.js contains '</script': a report file could not carry it");
  if (name === "index.html" && /(?:src|href)="(?:https?:)?\/\//.test(bytes.toString())) problems.push("index.html loads something from elsewhere");
}
console.log(`${"all".padEnd(22)} ${String(total).padStart(8)} of ${LIMIT}`);
if (names.join() !== EXPECTED.join()) problems.push(`${fileURLToPath(folder)} holds ${names.join(", ")} instead of ${EXPECTED.join(", ")}`);
if (total > LIMIT) problems.push(`the page is ${total} bytes gzipped; its budget is ${LIMIT}`);
for (const problem of problems) console.error(`budget: ${problem}`);
process.exitCode = problems.length ? 1 : 0;
