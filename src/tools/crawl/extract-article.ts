/**
 * The readable part of an HTML page as Markdown, by the cheapest means that does it well: a small page is converted
 * whole; of a page that marks its content (`<main>`, one `<article>`) that part is used; a page with hardly any links
 * is all content; any other goes through Readability; and where Readability finds nothing, or loses too much, the page
 * without navigation, headers and footers is the answer.
 */
import { inExtractionThread } from "./extraction-thread.ts";
import type { ReadArticle } from "./extraction-worker.ts";
import { htmlToMarkdown, type MarkdownOptions } from "./html-to-markdown.ts";

export interface ArticleOptions extends MarkdownOptions {
  /** How long the search for the article may take before the whole page is given. */
  deadlineMs?: number;
}

/** Pages up to this many characters of HTML are converted whole. */
const smallPage = 6_000;

/** Pages beyond this many characters are too slow to build a tree of. */
const largestTree = 3_000_000;

/** Content shorter than this is probably not the page's main content. */
const leastCharacters = 250;

/** A page with no more link text than this share counts as content only. */
const fewLinks = 0.1;

/** No page nests its elements this deep; what Readability does with such a tree costs the square of its depth. */
const deepestTree = 300;

/** Readability takes 30 microseconds and a kilobyte for each element; the longest articles there are have half as many. */
const mostElements = 30_000;

/** Extracts the readable part of a page. */
export async function extractArticle(html: string, options: ArticleOptions = {}) {
  if (html.length <= smallPage) return htmlToMarkdown(html, options);
  const declared = declaredContent(html);
  if (declared !== undefined) {
    const { markdown } = htmlToMarkdown(declared, options);
    if (markdown.length >= leastCharacters) return { title: titleOf(html), markdown };
  }
  const page = htmlToMarkdown(html, options);
  const linkShare = page.linkCharacters / Math.max(1, page.linkCharacters + page.plainCharacters);
  const tooLarge = html.length > largestTree || page.elements > mostElements || page.depth > deepestTree;
  if (tooLarge || linkShare <= fewLinks) return page;
  const article = await readArticle(html, options);
  // Menus and link lists are made of links; an article that lost half of the other text lost content.
  if (!article || article.characters < leastCharacters || article.characters < page.plainCharacters / 2) return page;
  return { title: article.title || page.title, markdown: article.markdown };
}

/** Finds the article with Readability, in a thread of its own; undefined where it can't, or not in time. */
async function readArticle(html: string, options: ArticleOptions): Promise<ReadArticle | undefined> {
  const { url, links, deadlineMs } = options;
  try {
    const page = { html: withoutCode(html), options: { url, links } };
    return await inExtractionThread((thread) => thread.call("article", page), deadlineMs);
  } catch {
    return undefined;
  }
}

/** The part a page marks as its content, when it marks exactly one. */
function declaredContent(html: string): string | undefined {
  const clean = withoutCode(html);
  for (const name of ["main", "article"]) {
    const opens = [...clean.matchAll(new RegExp(`<${name}(?=[\\s>])`, "gi"))];
    if (opens.length !== 1) continue;
    const start = clean.indexOf(">", opens[0]!.index) + 1;
    if (start === 0) continue;
    const end = clean.toLowerCase().lastIndexOf(`</${name}>`);
    return clean.slice(start, end > start ? end : undefined);
  }
  return undefined;
}

/** A page without scripts, styles and comments, in which tags could hide. What is never closed reaches to the end. */
function withoutCode(html: string): string {
  const opening = /<!--|<(script|style|svg|noscript|template)(?=[\s/>])/gi;
  const kept: string[] = [];
  let from = 0;
  for (let match = opening.exec(html); match; match = opening.exec(html)) {
    kept.push(html.slice(from, match.index));
    const closing = match[1] ? new RegExp(`</${match[1]}(?=[\\s/>])`, "gi") : /--(?=>)/g;
    closing.lastIndex = opening.lastIndex;
    const end = closing.exec(html) ? html.indexOf(">", closing.lastIndex) : -1;
    if (end < 0) return kept.join(" ");
    from = opening.lastIndex = end + 1;
  }
  kept.push(html.slice(from));
  return kept.join(" ");
}

function titleOf(html: string): string {
  const head = html.slice(0, 20_000);
  const title = /<title[^>]*>[\s\S]*?<\/title>/i.exec(head)?.[0];
  return title ? htmlToMarkdown(title).title : "";
}
