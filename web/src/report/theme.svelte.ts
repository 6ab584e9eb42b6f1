// SPDX-License-Identifier: Apache-2.0
/** The theme of a report: the reader's choice, else the system's; in print, that of paper. */

class Theme {
  dark = $state(false);

  follow(choice: HTMLSelectElement): void {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const chosen = () => (choice.value === "" ? system.matches : choice.value === "dark");
    const show = (dark: boolean) => {
      this.dark = dark;
      document.documentElement.dataset["theme"] = dark ? "dark" : "light";
    };
    choice.addEventListener("change", () => show(chosen()));
    system.addEventListener("change", () => show(chosen()));
    addEventListener("beforeprint", () => show(false));
    addEventListener("afterprint", () => show(chosen()));
    show(chosen());
  }
}

export const theme = new Theme();
