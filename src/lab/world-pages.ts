/**
 * The world as a web: one small HTML page per thing, and the documents a search index is built from. Inside a chain a
 * page's address is short (`http://lab/483`), because a small model must copy it; the fetcher maps the host `lab`
 * to where the world is really served.
 */
import { seededRandom } from "../base/work/random.ts";
import type { FetchedPage, FetchPage } from "../tools/crawl/fetch-page.ts";
import type { Entity, World } from "./create-world.ts";
import { openings, relationNamed, taglines } from "./relations.ts";

/** The base of page addresses as chains see them. */
export const labBase = "http://lab";

/** The address of a page as chains see it. */
export function pageUrl(page: number): string {
  return `${labBase}/${page}`;
}

/** What a page says, as sentences: a tagline, what the thing is, then its facts in random order and phrasing. */
export function pageSentences(world: World, entity: Entity): string[] {
  const { seed, split, variant } = world.options;
  const random = seededRandom("page", seed, split, variant, entity.page);
  const sentences = entity.facts.map((fact) =>
    random.pick(relationNamed(fact.relation)!.phrasings).replace("{}", fact.value),
  );
  const opening = random.pick(openings[entity.kind]).replace("{}", entity.name);
  return [random.pick(taglines), opening, ...random.shuffle(sentences)];
}

/**
 * How a search index over a world should rank: titles count most, and the order of things of one name says nothing
 * about them.
 */
export const worldIndexOptions = { titleBoost: 8, b: 0 } as const;

/** Every page as a document for a search index; addresses as chains see them. */
export function worldDocuments(world: World): { id: string; title: string; text: string; url: string }[] {
  return Array.from(world.byPage.values(), (entity) => ({
    id: String(entity.page),
    title: entity.name,
    text: pageSentences(world, entity).join(" "),
    url: pageUrl(entity.page),
  }));
}

/** A page as HTML: its sentences in the article, links to the things it mentions beside it. */
export function pageHtml(world: World, entity: Entity): string {
  const links = entity.facts.flatMap((fact) =>
    fact.to ? [`<li><a href="/${fact.to.page}">${fact.value}</a></li>`] : [],
  );
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${entity.name}</title></head>
<body>
<header><nav><a href="/">Home</a></nav></header>
<main><article><p>${pageSentences(world, entity).join(" ")}</p></article></main>
<footer><nav><ul>${links.join("")}</ul></nav></footer>
</body>
</html>
`;
}

/** The front page: where a reader who comes by browser starts. */
export function indexHtml(world: World): string {
  const entries = world.entities.map((entity) => `<li><a href="/${entity.page}">${entity.name}</a></li>`);
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>A small world</title></head>
<body><main><h1>A small world</h1><p>Seed ${world.options.seed}, ${world.options.split}: everything here is made up.</p><ul>
${entries.join("\n")}
</ul></main></body>
</html>
`;
}

/** The HTML at a path of the world's site, or null where there is none. */
export function htmlAt(world: World, path: string): string | null {
  if (path === "/") return indexHtml(world);
  const entity = world.byPage.get(Number(/^\/(\d+)$/.exec(path)?.[1]));
  return entity ? pageHtml(world, entity) : null;
}

/*
 * Two ways to a world's pages for a crawler that sees `http://lab/483`: over real HTTP, by rewriting the address to
 * where the world is served; or straight from memory, for bulk data. Both hand out the same bytes.
 */

/** Fetches lab addresses from where the world is served, by the crawler's own fetcher; other addresses as they are. */
export function servedFetch(base: string, fetchPage: FetchPage): FetchPage {
  return async (url, options) => {
    if (!url.startsWith(`${labBase}/`)) return fetchPage(url, options);
    const page = await fetchPage(base + url.slice(labBase.length), options);
    return { ...page, url: page.url.startsWith(base) ? labBase + page.url.slice(base.length) : page.url };
  };
}

/** Fetches lab addresses from memory, without HTTP: the fast path for bulk data. Knows no other addresses. */
export function memoryFetch(world: World): FetchPage {
  const pages = new Map<string, FetchedPage>();
  const encoder = new TextEncoder();
  return async (url) => {
    let page = pages.get(url);
    if (page) return page;
    const path = url.startsWith(`${labBase}/`) ? url.slice(labBase.length) : null;
    const html = path === null ? null : htmlAt(world, path);
    const contentType = "text/html; charset=utf-8";
    page = { url, status: html === null ? 404 : 200, contentType, body: encoder.encode(html ?? ""), truncated: false };
    if (html !== null) pages.set(url, page);
    return page;
  };
}
