/**
 * HTML to Markdown in one pass, for reading by a model: headings, lists, code, quotes, tables and links stay; navigation,
 * menus, forms and everything invisible goes. Good enough for small pages by itself, and the fallback for pages in which
 * Readability finds no article.
 */
import { markdownWriter } from "./markdown-writer.ts";
import { scanHtml } from "./scan-html.ts";

export interface MarkdownOptions {
  /** The page's address, against which relative links are resolved. */
  url?: string;
  /** Keep links as `[text](address)`; otherwise their text alone. Default true. */
  links?: boolean;
  /** Keep navigation, headers, footers, asides and forms. Default false. */
  everything?: boolean;
}

export interface MarkdownPage {
  title: string;
  markdown: string;
  /** Characters of text inside links and outside them: how much of it is a way to elsewhere. */
  linkCharacters: number;
  plainCharacters: number;
  /** How deep elements are nested that only their own closing tag closes. */
  depth: number;
}

const blocks = new Set(
  (
    "address article blockquote body center dd details dialog div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5 h6 " +
    "header footer hr html legend li main nav ol p pre section summary table tbody tfoot thead tr ul aside caption"
  ).split(" "),
);
const furniture = new Set(["nav", "footer", "aside", "form", "select", "button", "dialog", "menu"]);
const empty = new Set([
  "br",
  "hr",
  "img",
  "input",
  "meta",
  "link",
  "area",
  "base",
  "col",
  "embed",
  "source",
  "track",
  "wbr",
]);

/** Elements that the next of their kind closes: many of them in a row are not nested. */
const closedByNext = new Set("p li dt dd tr td th thead tbody tfoot option optgroup rp rt body html head".split(" "));

/** Turns a page, or a part of one, into Markdown. */
export function htmlToMarkdown(html: string, options: MarkdownOptions = {}): MarkdownPage {
  const { links = true, everything = false } = options;
  const out = markdownWriter();
  let title = "";
  let inTitle = false;
  let hiddenDepth = 0;
  const hidden: string[] = []; // open furniture elements
  const lists: { ordered: boolean; item: number }[] = [];
  const anchors: (string | undefined)[] = [];
  let pre = 0;
  let cell = 0;
  let linkCharacters = 0;
  let plainCharacters = 0;
  let nesting = 0;
  let depth = 0;

  scanHtml(html, {
    open(name, attributes) {
      if (!empty.has(name) && !closedByNext.has(name)) depth = Math.max(depth, ++nesting);
      if (name === "title") {
        inTitle = title === "";
        return;
      }
      if (hiddenDepth > 0 || (!everything && isFurniture(name, attributes))) {
        if (!empty.has(name) && (furniture.has(name) || name === hidden[0] || hiddenDepth === 0)) {
          hidden.push(name);
          hiddenDepth++;
        }
        return;
      }
      if (blocks.has(name)) out.block(name === "li" || name === "tr" || name === "dd" ? 1 : 2);
      if (/^h[1-6]$/.test(name)) out.lead(`${"#".repeat(Number(name[1]))} `);
      else if (name === "br") out.line();
      else if (name === "hr") out.rule();
      else if (name === "ul" || name === "ol") lists.push({ ordered: name === "ol", item: 0 });
      else if (name === "li") {
        const list = lists.at(-1);
        if (list) list.item++;
        out.lead(`${"  ".repeat(Math.max(0, lists.length - 1))}${list?.ordered ? `${list.item}.` : "-"} `);
      } else if (name === "pre") {
        pre++;
        out.startFence();
      } else if (name === "code" && pre === 0) out.openMark("`");
      else if (name === "strong" || name === "b") out.openMark("**");
      else if (name === "blockquote") out.quote(1);
      else if (name === "tr") cell = 0;
      else if (name === "td" || name === "th") {
        if (cell++ > 0) out.lead(" | ");
      } else if (name === "a") {
        const href = links ? absolute(attributes.get("href"), options.url) : undefined;
        anchors.push(href);
        if (href) out.openMark("[");
      } else if (name === "img") {
        const alt = attributes.get("alt")?.trim();
        if (alt) out.text(`[image: ${alt}]`, false);
      }
    },

    close(name) {
      if (nesting > 0 && !empty.has(name) && !closedByNext.has(name)) nesting--;
      if (name === "title") {
        inTitle = false;
        return;
      }
      if (hiddenDepth > 0) {
        const at = hidden.lastIndexOf(name);
        if (at >= 0) {
          hidden.length = at;
          hiddenDepth = at;
        }
        return;
      }
      if (name === "pre" && pre > 0) {
        pre--;
        out.endFence();
      } else if (name === "code" && pre === 0) out.closeMark("`");
      else if (name === "strong" || name === "b") out.closeMark("**");
      else if (name === "blockquote") out.quote(-1);
      else if (name === "ul" || name === "ol") lists.pop();
      else if (name === "a") {
        const href = anchors.pop();
        if (href) out.closeMark("[", `](${href})`);
      }
      if (blocks.has(name)) out.block(name === "li" || name === "tr" || name === "dt" ? 1 : 2);
    },

    text(text) {
      if (inTitle) title += text;
      else if (hiddenDepth === 0) {
        if (anchors.length > 0) linkCharacters += text.trim().length;
        else plainCharacters += text.trim().length;
        out.text(text, pre > 0);
      }
    },
  });
  return { title: title.replace(/\s+/g, " ").trim(), markdown: out.finish(), linkCharacters, plainCharacters, depth };
}

function isFurniture(name: string, attributes: ReadonlyMap<string, string>): boolean {
  if (furniture.has(name)) return true;
  if (attributes.size === 0 || empty.has(name)) return false;
  if (attributes.has("hidden") || attributes.get("aria-hidden")?.toLowerCase() === "true") return true;
  if (/display\s*:\s*none/i.test(attributes.get("style") ?? "")) return true;
  return /^\s*(?:navigation|banner|search|menu|contentinfo)/i.test(attributes.get("role") ?? "");
}

/** The absolute form of a link worth keeping: web addresses only, and not a place on the same page. */
function absolute(href: string | undefined, base: string | undefined): string | undefined {
  if (!href || href.startsWith("#")) return undefined;
  if (/^(?:javascript|mailto|data|tel):/i.test(href)) return undefined;
  const parsed = URL.parse(href, base);
  return parsed && /^https?:$/.test(parsed.protocol) ? parsed.href : undefined;
}
