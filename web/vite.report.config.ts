// SPDX-License-Identifier: Apache-2.0
/** Builds what draws the charts and tables of a report: one script and one style sheet, which every report file carries. */
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [svelte()],
  publicDir: false,
  build: {
    outDir: "../src/steersman/base/report/page",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    reportCompressedSize: false,
    rollupOptions: {
      input: "src/report/main.ts",
      output: { format: "iife", entryFileNames: "report.js", assetFileNames: "report[extname]" },
    },
  },
});
