// SPDX-License-Identifier: Apache-2.0
import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import globals from "globals";
import ts from "typescript-eslint";

export default ts.config(
  { ignores: ["node_modules/", "dist/"] },
  js.configs.recommended,
  ...ts.configs.strict,
  ...svelte.configs.recommended,
  { languageOptions: { globals: globals.browser } },
  { files: ["**/*.svelte", "**/*.svelte.ts"], languageOptions: { parserOptions: { parser: ts.parser } } },
  {
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      // Routes are in the fragment of the address: there is no router whose base a link could miss.
      "svelte/no-navigation-without-resolve": "off",
      "svelte/prefer-svelte-reactivity": "off",
    },
  },
  { files: ["*.mjs", "*.js"], languageOptions: { globals: globals.node }, rules: { "no-console": "off" } },
);
