/**
 * HTML to Markdown in one pass, for reading by a model: headings, lists, code, quotes, tables and links stay;
 * navigation, menus, forms and everything invisible is left out. Good enough for small pages by itself, and the
 * fallback for pages in which Readability finds no article.
 */
import { markdownWriter, openNames } from "./markdown-writer.ts";
import { scanHtml } from "./scan-html.ts";

export interface MarkdownOptions {
  /** The page's address, against which relative links are resolved. */
  url?: string;
  /** Keep links as `[text](address)`; otherwise their text alone. Default true. */
  links?: boolean;
  /** Keep navigation, headers, footers, asides and forms. Default false. */
  everything?: boolean;
}

const blocks = new Set(
  "address article blockquote body center dd details dialog div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5 h6 header footer hr html legend li main nav ol p pre section summary table tbody tfoot thead tr ul aside caption".split(
    " ",
  ),
);
const boilerplate = new Set(["nav", "footer", "aside", "form", "select", "button", "dialog", "menu"]);
const empty = new Set("br hr img input meta link area base col embed source track wbr".split(" "));

/** Lists within lists beyond this depth are not indented further: an indent per level would cost the square of the page. */
const deepestIndent = 20;

/** Elements that the next of their kind closes: many of them in a row are not nested. */
const closedByNext = new Map(
  ["p", "li", "dt dd", "tr td th thead tbody tfoot", "option optgroup", "rp rt", "body html head"].flatMap((kind) =>
    kind.split(" ").map((name) => [name, kind] as const),
  ),
);

/** Turns a page, or a part of one, into Markdown. */
export function htmlToMarkdown(html: string, options: MarkdownOptions = {}) {
  const { links = true, everything = false } = options;
  const out = markdownWriter();
  let title = "";
  let inTitle = false;
  const hidden = openNames(); // navigation and the like
  const lists: { ordered: boolean; item: number }[] = [];
  let anchor: { href: string | undefined } | undefined; // the link that is open
  let pre = 0;
  let cell = 0;
  let linkCharacters = 0;
  let plainCharacters = 0;
  const nesting = openNames();
  let depth = 0;
  let elements = 0;

  const closeAnchor = (): void => {
    if (anchor?.href) out.closeMark("[", `](${anchor.href})`);
    anchor = undefined;
  };

  scanHtml(html, {
    open(name, attributes) {
      elements++;
      if (!empty.has(name)) {
        const kind = closedByNext.get(name);
        while (kind !== undefined && closedByNext.get(nesting.innermost ?? "") === kind)
          nesting.close(nesting.innermost!);
        nesting.open(name);
        depth = Math.max(depth, nesting.depth);
      }
      if (name === "title") {
        inTitle = title === "";
        return;
      }
      if (hidden.depth > 0 || (!everything && isBoilerplate(name, attributes))) {
        if (!empty.has(name) && (boilerplate.has(name) || name === hidden.outermost || hidden.depth === 0))
          hidden.open(name);
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
        const indent = "  ".repeat(Math.min(deepestIndent, Math.max(0, lists.length - 1)));
        out.lead(`${indent}${list?.ordered ? `${list.item}.` : "-"} `);
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
        closeAnchor(); // links do not hold links
        anchor = { href: links ? absolute(attributes.get("href"), options.url) : undefined };
        if (anchor.href) out.openMark("[");
      } else if (name === "img") {
        const alt = attributes.get("alt")?.trim();
        if (alt) out.text(`[image: ${alt}]`, false);
      }
    },

    close(name) {
      if (name === "p") elements++;
      nesting.close(name);
      if (name === "title") {
        inTitle = false;
        return;
      }
      if (hidden.depth > 0) {
        hidden.close(name);
        return;
      }
      if (name === "pre" && pre > 0) {
        pre--;
        out.endFence();
      } else if (name === "code" && pre === 0) out.closeMark("`");
      else if (name === "strong" || name === "b") out.closeMark("**");
      else if (name === "blockquote") out.quote(-1);
      else if (name === "ul" || name === "ol") lists.pop();
      else if (name === "a") closeAnchor();
      if (blocks.has(name)) out.block(name === "li" || name === "tr" || name === "dt" ? 1 : 2);
    },

    text(text) {
      if (inTitle) title += text;
      else if (hidden.depth === 0) {
        if (anchor) linkCharacters += text.trim().length;
        else plainCharacters += text.trim().length;
        out.text(text, pre > 0);
      }
    },
  });
  return {
    title: title.replace(/\s+/g, " ").trim(),
    markdown: out.finish(),
    /** Characters of text inside links and outside them: how much of the text is links. */
    linkCharacters,
    plainCharacters,
    /** How deep elements are nested, as a parser that builds a tree would see it. */
    depth,
    /** How many elements the page has; `</p>` counts too, because it makes one. */
    elements,
  };
}

function isBoilerplate(name: string, attributes: ReadonlyMap<string, string>): boolean {
  if (boilerplate.has(name)) return true;
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
