/**
 * Every state of the studio stands in the address, after the `#`, so that each link can be kept, sent and loaded again. A
 * route is a path with names in it: `/runs/:id`.
 */
import { computed, signal } from "@preact/signals";

/** Where the browser is. */
export interface Place {
  path: string;
  query: URLSearchParams;
}

export const place = signal<Place>(placeOf(location.hash));

/** The path alone: what decides which screen is shown. */
export const path = computed(() => place.value.path);

globalThis.addEventListener("hashchange", () => {
  place.value = placeOf(location.hash);
});

function placeOf(hash: string): Place {
  const [path = "/", query = ""] = hash.replace(/^#/, "").split("?", 2);
  return { path: path.startsWith("/") ? path : "/", query: new URLSearchParams(query) };
}

/** What is written into links: values that are undefined or empty are left out. */
export type Params = Record<string, string | number | readonly string[] | undefined>;

/** Any text as one part of a path; half a character, which no address can hold, becomes the sign for it. */
export function pathPart(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

/** The address of a path with a query. */
export function href(path: string, params: Params = {}): string {
  return withQuery(path, new URLSearchParams(), params);
}

function withQuery(path: string, query: URLSearchParams, changes: Params): string {
  for (const [name, value] of Object.entries(changes)) {
    query.delete(name);
    if (value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  return `#${path}${query.size === 0 ? "" : `?${query}`}`;
}

export function go(path: string, params?: Params): void {
  enter(href(path, params));
}

/** Goes to an address now; the browser's own event comes later, and what happens until then must not go back to the old place. */
function enter(hash: string): void {
  location.hash = hash;
  place.value = placeOf(location.hash);
}

/**
 * Changes parts of the query and leaves the rest; without a new entry in the history unless `push`. Where the address has
 * already gone to another path, of which the page is yet to hear, nothing is changed.
 */
export function setQuery(changes: Params, options: { push?: boolean } = {}): void {
  const { path, query } = placeOf(location.hash);
  if (path !== place.value.path) return;
  const hash = withQuery(path, query, changes);
  if (options.push) enter(hash);
  else {
    history.replaceState(null, "", hash);
    place.value = placeOf(location.hash);
  }
}

/** The named parts of a path that fits a pattern; undefined where it does not. */
export function matchPath(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index]!;
    if (part.startsWith(":")) params[part.slice(1)] = decodeSafely(value);
    else if (part !== value) return undefined;
  }
  return params;
}

function decodeSafely(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
