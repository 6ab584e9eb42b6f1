// SPDX-License-Identifier: Apache-2.0
/** Fails the build when the page outgrows its budget or would load something from elsewhere. */
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const PAGES = [
  { path: "sandbox/web/page/", limit: 400_000, expected: ["assets/app.css", "assets/app.js", "assets/yaml_editor.js", "favicon.svg", "index.html"] },
  // Every report carries these, and not compressed.
  { path: "base/report/page/", limit: 70_000, expected: ["report.css", "report.js"] },
];
const CARRIED = new Set(["assets/app.js", "report.js"]);
const problems = [];
for (const page of PAGES) check(page);
for (const problem of problems) console.error(`budget: ${problem}`);
process.exitCode = problems.length ? 1 : 0;

function check({ path, limit, expected }) {
  const folder = new URL(`../src/steersman/${path}`, import.meta.url);
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(fileURLToPath(folder), join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .sort();
  let total = 0;
  for (const name of names) total += checkFile(new URL(name, folder), name);
  console.log(`${"all".padEnd(22)} ${String(total).padStart(8)} of ${limit}`);
  if (names.join() !== expected.join()) problems.push(`${fileURLToPath(folder)} holds ${names.join(", ")} instead of ${expected.join(", ")}`);
  if (total > limit) problems.push(`${path} is ${total} bytes gzipped; its budget is ${limit}`);
}

function checkFile(file, name) {
  const bytes = readFileSync(file);
  const size = gzipSync(bytes, { level: 9 }).length;
  console.log(`${name.padEnd(22)} ${String(size).padStart(8)} bytes gzipped`);
  if (name === "assets/app.js" && /\bfrom\s*["']\.|\bimport\s*["']/.test(bytes.toString())) problems.push("app.js imports another file at once: a report file carries app.js alone");
  if (CARRIED.has(name) && bytes.includes("</script")) problems.push(`${name} contains '</script': a report file could not carry it`);
  if (name === "index.html" && /(?:src|href)="(?:https?:)?\/\//.test(bytes.toString())) problems.push("index.html loads something from elsewhere");
  return size;
}
