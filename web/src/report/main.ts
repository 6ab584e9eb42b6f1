// SPDX-License-Identifier: Apache-2.0
/** Draws the sections of a report, which `steersman.base.report.html` has written around this script. */
import "uplot/dist/uPlot.min.css";
import "../style.css";
import { mount, tick } from "svelte";
import CopyCommands from "../parts/CopyCommands.svelte";
import Drawing from "./Drawing.svelte";
import type { SectionData } from "./model";
import { theme } from "./theme.svelte";

const sections = JSON.parse(document.getElementById("sections")?.textContent ?? "[]") as SectionData[];
const choice = document.getElementById("theme");
if (choice instanceof HTMLSelectElement) theme.follow(choice);

for (const target of document.querySelectorAll<HTMLElement>(".drawing")) {
  const data = sections[Number(target.dataset["section"])];
  const title = target.closest("section")?.querySelector("h2")?.textContent ?? "";
  if (data) mount(Drawing, { target, props: { data, title } });
}

const written = [...document.querySelectorAll(".command")];
const target = written[0]?.parentElement;
if (target) {
  const commands = [...new Set(written.map((command) => command.textContent))];
  for (const command of written) command.remove();
  mount(CopyCommands, { target, props: { commands } });
}

/** `data-state` says when everything is drawn: charts are, once their widths are known. */
void tick().then(() => requestAnimationFrame(() => requestAnimationFrame(() => (document.documentElement.dataset["state"] = "drawn"))));
