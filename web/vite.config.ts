// SPDX-License-Identifier: Apache-2.0
/** Builds the page into the Python package: one script, one style sheet, no request to anywhere else. */
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: {
    outDir: "../src/steersman/web/page",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1500, // budget.mjs counts what is sent
    rollupOptions: {
      // A report file carries the script inline, so that there is exactly one.
      output: { entryFileNames: "assets/app.js", assetFileNames: "assets/app[extname]", codeSplitting: false },
    },
  },
});
