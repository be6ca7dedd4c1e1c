/** The search of the site: the index of the package over the parts of all pages, in the browser. */
import "./node-in-browser.ts";
import { buildIndex, type MemoryIndex } from "../../src/tools/local-index/build-index.ts";

const { base = "" } = document.documentElement.dataset;
const box = document.querySelector<HTMLInputElement>("search input")!;
const list = document.querySelector<HTMLOListElement>("search ol")!;
let loading: Promise<{ index: MemoryIndex; parts: Map<string, string[]> }> | undefined;

async function load() {
  const rows = (await (await fetch(`${base}search.json`)).json()) as string[][];
  const documents = rows.map(([url = "", page, part, text = ""]) => ({ id: url, url, title: `${page} ${part}`, text }));
  return { index: buildIndex(documents), parts: new Map(rows.map((row) => [row[0]!, row])) };
}

async function show(): Promise<void> {
  const query = box.value.trim();
  list.hidden = query === "";
  if (query === "") return;
  loading ??= load();
  const { index, parts } = await loading;
  if (query !== box.value.trim()) return;
  const found = index.search(query, 8);
  list.replaceChildren(
    ...found.map(({ document: { id } }) => {
      const [url, page, part, text = ""] = parts.get(id)!;
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = base + url;
      link.textContent = part === page ? page! : `${page}: ${part}`;
      const about = document.createElement("p");
      about.textContent = text.slice(0, 140);
      item.append(link, about);
      return item;
    }),
  );
  if (found.length === 0) list.append(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
}

box.addEventListener("input", () => void show());
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement;
  if (event.key === "/" && !typing) {
    event.preventDefault();
    box.focus();
  } else if (event.key === "Escape") {
    box.value = "";
    void show();
  } else if (event.key === "ArrowDown" && event.target === box) {
    event.preventDefault();
    list.querySelector("a")?.focus();
  }
});
