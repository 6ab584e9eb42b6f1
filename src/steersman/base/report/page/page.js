// SPDX-License-Identifier: Apache-2.0
// Puts the page together: sections, the switch of the theme, buttons that copy. `data-state` of the page says when all is drawn.

const sections = JSON.parse(document.getElementById("sections").textContent);
const views = [];

function titleOf(number) {
  return document.getElementById(`section-${number}-title`).textContent;
}

function makeView(holder) {
  const number = Number(holder.dataset.section);
  const data = sections[number];
  if (data.type === "table") holder.append(new SortedTable(data).root);
  else views.push(data.type === "heatmap" ? new HeatMapView(holder, data) : new Chart(holder, data, titleOf(number)));
}

function redraw() {
  return Promise.all(views.map((view) => view.draw()));
}

function copyButton(command) {
  const button = element("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
      button.textContent = "Selected";
    }
  });
  return button;
}

/** In print, colours are those of paper. */
function followThemes() {
  const choice = document.getElementById("theme");
  const show = (theme) => {
    document.documentElement.dataset.theme = theme;
    return redraw();
  };
  choice.addEventListener("change", () => show(choice.value));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(choice.value));
  addEventListener("beforeprint", () => show("light"));
  addEventListener("afterprint", () => show(choice.value));
}

async function main() {
  document.querySelectorAll(".command").forEach((holder) => holder.append(copyButton(holder.firstElementChild)));
  document.querySelectorAll(".drawing").forEach(makeView);
  followThemes();
  await loadPlotly();
  await redraw();
  document.documentElement.dataset.state = "drawn";
}

main();
