/** One script and one style sheet, under names that do not change: the server sends these and nothing else. */
import { join } from "node:path";
import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    lib: {
      entry: join(import.meta.dirname, "main.tsx"),
      formats: ["iife"],
      name: "coaStudio",
      fileName: () => "app.js",
      cssFileName: "app",
    },
    copyPublicDir: true,
  },
  publicDir: join(import.meta.dirname, "public"),
});
