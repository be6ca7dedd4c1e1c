/**
 * `npm run site`: the documentation as a folder of static files, with a search and the shipped model answering in the visitor's
 * browser. Every address in it is relative, so it works under any path of any host.
 */
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix, resolve } from "node:path";
import { escapeHtml, renderMarkdown } from "./markdown.ts";

const root = resolve(import.meta.dirname, "..", "..");
const here = import.meta.dirname;
const repository = "https://github.com/chain-of-agents/chain-of-agents/blob/main";

/** What stands at the left, in order; pages that are not named come under "More". */
const sections: Record<string, readonly string[]> = {
  "": ["index", "demo"],
  Tutorials: ["tutorials/documents", "tutorials/traces"],
  Guide: ["up", "record", "team", "tasks", "chain", "tools", "sandboxes", "distill", "dataset", "train", "engine", "real-models", "evaluate", "switching", "serve", "studio", "lab", "scale"].map((page) => `guide/${page}`),
  Facts: ["cost", "results", "compatibility", "commands", "settings", "troubleshooting", "architecture"],
}; // biome-ignore format: one section a line

interface SitePage {
  name: string;
  title: string;
  html: string;
}

/** Builds the site into an empty folder. */
export async function buildSite(out: string): Promise<void> {
  rmSync(out, { recursive: true, force: true });
  const sources = [
    ...globSync("docs/**/*.md", { cwd: root }).filter((path) => !/docs\/(?:site|tutorials\/harbours)\//.test(path)),
    ...globSync("recipes/*.md", { cwd: root }),
  ].sort();
  const names = new Map(sources.map((path) => [path, pageName(path)]));
  const search: [url: string, page: string, part: string, text: string][] = [];
  const pages = sources.map((path): SitePage => {
    const name = names.get(path)!;
    const { title, html, parts } = renderMarkdown(readFileSync(join(root, path), "utf8"), (address) => {
      if (/^(?:[a-z]+:|#)/.test(address)) return address;
      const [file = "", anchor] = address.split("#");
      const target = posix.join(posix.dirname(path), file);
      const page = names.get(target);
      const to = page !== undefined ? `${page}.html` : target.startsWith("docs/images/") ? target.slice(5) : undefined;
      return to === undefined ? `${repository}/${target}` : up(name) + to + (anchor ? `#${anchor}` : "");
    });
    for (const part of parts) search.push([`${name}.html#${part.id}`, title, part.title, plain(part.text)]);
    return { name, title, html };
  });
  pages.push({ name: "demo", title: "The model in your browser", html: readFileSync(join(here, "demo.html"), "utf8") });
  for (const page of pages) write(join(out, `${page.name}.html`), pageHtml(page, pages));
  write(join(out, "search.json"), JSON.stringify(search));
  for (const file of ["site.css", "icon.svg"]) cpSync(join(here, file), join(out, file));
  cpSync(join(root, "docs", "images"), join(out, "images"), { recursive: true });
  cpSync(join(root, "weights", "afm-lab-2m"), join(out, "model"), { recursive: true });
  for (const entry of ["search", "demo", "demo-worker"]) await bundle(entry, out);
}

const pageName = (path: string): string =>
  path
    .replace(/^docs\//, "")
    .replace(/\.md$/, "")
    .replace(/^README$/, "index");
const up = (name: string): string => "../".repeat(name.split("/").length - 1);
const plain = (text: string): string =>
  text
    .replace(/\]\([^)]*\)|[`*[\]|]|-{3,}/g, " ")
    .replace(/\s+/g, " ")
    .trim();

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Scripts come from this site alone; WebAssembly is what the decoder is made of. */
const policy =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'";

function pageHtml({ name, title, html }: SitePage, pages: readonly SitePage[]): string {
  const base = up(name);
  const named = new Set(Object.values(sections).flat());
  const rest = pages.map((page) => page.name).filter((one) => !named.has(one) && !one.startsWith("decisions/"));
  const titles = new Map(pages.map((page) => [page.name, page.title]));
  const links = (list: readonly string[]) =>
    list
      .filter((one) => titles.has(one))
      .map(
        (one) =>
          `<li><a href="${base}${one}.html"${one === name ? ' aria-current="page"' : ""}>${escapeHtml(titles.get(one)!)}</a></li>`,
      )
      .join("");
  const menu = Object.entries({ ...sections, More: rest })
    .map(([heading, list]) => `${heading && `<p>${heading}</p>`}<ul>${links(list)}</ul>`)
    .join("");
  return `<!doctype html>
<html lang="en" data-base="${base}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Chain-of-Agents</title>
<link rel="icon" href="${base}icon.svg">
<link rel="stylesheet" href="${base}site.css">
<script src="${base}search.js" defer></script>${name === "demo" ? '\n<script src="demo.js" defer></script>' : ""}
</head>
<body>
<header><a class="home" href="${base}index.html">Chain-of-Agents</a>
<search><input type="search" aria-label="Search the documentation" placeholder="Search ( / )"><ol hidden></ol></search></header>
<nav aria-label="Pages">${menu}</nav>
<main>${html}</main>
</body>
</html>
`;
}

/** One script for the browser; what it asks of Node is answered by a file beside this one. */
async function bundle(entry: string, out: string): Promise<void> {
  const { build } = await import("vite");
  const mode = process.env["NODE_ENV"];
  await build({
    configFile: false,
    root: here,
    logLevel: "error",
    publicDir: false,
    resolve: {
      alias: [{ find: /^node:.*/, replacement: join(here, "node-in-browser.ts") }],
    },
    define: { "process.env.NODE_ENV": JSON.stringify("production"), "import.meta.url": "location.href" },
    build: {
      outDir: out,
      emptyOutDir: false,
      target: "es2023",
      lib: { entry: join(here, `${entry}.ts`), formats: ["iife"], name: "site", fileName: () => `${entry}.js` },
    },
  });
  // Vite sets it for the whole process.
  if (mode === undefined) delete process.env["NODE_ENV"];
}

if (import.meta.main) {
  const out = resolve(process.argv[2] ?? join(root, "dist-site"));
  await buildSite(out);
  console.log(`the site: ${out}`);
}
