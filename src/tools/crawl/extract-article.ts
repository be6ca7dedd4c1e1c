/**
 * The readable part of an HTML page as Markdown, by the cheapest means that does it well: a small page is converted
 * whole; a page that says where its content is (`<main>`, one `<article>`) is believed; any other goes through
 * Readability; and where Readability finds nothing, or far too little, the page without its furniture is the answer.
 */
import { htmlToMarkdown, type MarkdownOptions, type MarkdownPage } from "./html-to-markdown.ts";

export interface ArticleOptions extends MarkdownOptions {
  /** Pages up to this many characters of HTML are converted whole. */
  smallPage?: number;
  /** Pages beyond this many characters are too slow to build a tree of. */
  largestTree?: number;
}

/** Content shorter than this says more about the markup than about the page. */
const leastCharacters = 250;

/** Extracts the readable part of a page. */
export async function extractArticle(html: string, options: ArticleOptions = {}): Promise<MarkdownPage> {
  const { smallPage = 6_000, largestTree = 3_000_000 } = options;
  const whole = () => htmlToMarkdown(html, options);
  if (html.length <= smallPage) return whole();
  const declared = declaredContent(html);
  if (declared !== undefined) {
    const { markdown } = htmlToMarkdown(declared, options);
    if (markdown.length >= leastCharacters) return { title: titleOf(html), markdown };
  }
  if (html.length > largestTree) return whole();
  const article = await readability(html, options);
  const page = whole();
  if (!article || article.markdown.length < leastCharacters || article.markdown.length < page.markdown.length / 4) {
    return page;
  }
  return { title: article.title || page.title, markdown: article.markdown };
}

async function readability(html: string, options: MarkdownOptions): Promise<MarkdownPage | undefined> {
  const [{ parseHTML }, { Readability }] = await Promise.all([import("linkedom"), import("@mozilla/readability")]);
  try {
    const { document } = parseHTML(withoutCode(html));
    const article = new Readability(document as never, { charThreshold: leastCharacters, keepClasses: false }).parse();
    if (!article?.content) return undefined;
    // Readability has removed the furniture; what is left stays, forms included.
    const { markdown } = htmlToMarkdown(article.content, { ...options, everything: true });
    return { title: article.title?.trim() ?? "", markdown };
  } catch {
    // Some markup makes the tree or the scoring fail; the caller has another way.
    return undefined;
  }
}

/** The part a page marks as its content, when it marks exactly one. */
export function declaredContent(html: string): string | undefined {
  const clean = withoutCode(html);
  for (const name of ["main", "article"]) {
    const opens = [...clean.matchAll(new RegExp(`<${name}(?=[\\s>])[^>]*>`, "gi"))];
    if (opens.length !== 1) continue;
    const start = opens[0]!.index + opens[0]![0].length;
    const end = clean.toLowerCase().lastIndexOf(`</${name}>`);
    return clean.slice(start, end > start ? end : undefined);
  }
  return undefined;
}

/** A page without scripts, styles and comments, in which tags could hide. */
function withoutCode(html: string): string {
  return html.replace(/<!--[\s\S]*?-->|<(script|style|svg|noscript|template)\b[\s\S]*?<\/\1\s*>/gi, " ");
}

function titleOf(html: string): string {
  const head = html.slice(0, 20_000);
  const title = /<title[^>]*>[\s\S]*?<\/title>/i.exec(head)?.[0];
  return title ? htmlToMarkdown(title).title : "";
}
