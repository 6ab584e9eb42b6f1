// SPDX-License-Identifier: Apache-2.0
/**
 * Builds the page into the Python package: a script, a style sheet, and the editor in a script of its own; no request to anywhere
 * else. A report file carries the first two inline; it has no editor.
 */
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  plugins: [svelte()],
  build: {
    outDir: "../src/steersman/sandbox/web/page",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1500, // budget.mjs counts what is sent
    rollupOptions: {
      output: { entryFileNames: "assets/app.js", chunkFileNames: "assets/[name].js", assetFileNames: "assets/app[extname]" },
    },
  },
});
