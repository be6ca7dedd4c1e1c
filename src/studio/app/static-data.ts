/**
 * An exported studio: the page's folder holds the answers as scripts (a page from a file may not fetch, but it may load
 * scripts beside it). `data/manifest.js` is loaded before the app and says which answer stands in which file.
 */
import type { ItemView } from "../api/item-view.ts";
import { staticList } from "./static-list.ts";

/** What the export wrote. */
export interface StaticStudio {
  /** File of each answer by the path that would be asked. */
  answers: Record<string, string>;
  exportedAt: string;
  title: string;
}

declare global {
  var coaStatic: StaticStudio | undefined;
  var coaAnswer: ((path: string, value: unknown) => void) | undefined;
}

/** The export, or undefined with a server behind. */
export const staticStudio = globalThis.coaStatic;

const loaded = new Map<string, unknown>();
globalThis.coaAnswer = (path, value) => loaded.set(path, value);

/** The answer that the export holds for a path. */
export async function staticAnswer(path: string): Promise<unknown> {
  if (/^(?:items|facets)\?/.test(path)) return staticList(path, (await stored("rows")) as ItemView[]);
  return stored(withoutPlace(path));
}

/** Every item of an export is there once: in which file it stood decides nothing. */
function withoutPlace(path: string): string {
  const [name = "", text] = path.split("?", 2);
  if (text === undefined) return name;
  const query = new URLSearchParams(text);
  query.delete("in");
  // A run's page may ask for one of its chains: the export has the first.
  if (name === "beside" && query.has("run")) query.delete("chain");
  return `${name}?${query}`;
}

async function stored(path: string): Promise<unknown> {
  const file = staticStudio?.answers[path];
  if (file === undefined) throw new Error("This is not part of the export.");
  if (!loaded.has(path)) {
    await new Promise<void>((resolve, reject) => {
      const script = document.createElement("script");
      script.src = `./data/${file}`;
      script.onload = () => resolve();
      script.onerror = () => reject(new Error(`data/${file} is missing from the export`));
      document.head.append(script);
    });
  }
  return loaded.get(path);
}
