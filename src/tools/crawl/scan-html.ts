/**
 * HTML in one pass, without a tree: a call per tag and per run of text, from htmlparser2's tokenizer. Its parser is not
 * used, because what that does per open element makes deep nesting cost the square of the page's length.
 */
import { Tokenizer } from "htmlparser2";

export interface HtmlListener {
  open(name: string, attributes: ReadonlyMap<string, string>): void;
  close(name: string): void;
  text(text: string): void;
}

/** Elements whose content is not markup, or is not for reading. */
const skipped = new Set(["script", "style", "noscript", "template", "svg", "iframe", "textarea", "object", "math"]);

/** Reads HTML from start to end; broken markup is read as far as it makes sense. */
export function scanHtml(html: string, listener: HtmlListener): void {
  const lost = scan(html, listener);
  // An unclosed quote in a tag would hide the rest of the page: that tag ends at its first bracket instead.
  if (lost !== undefined) scan(html.slice(lost), listener);
}

/** The text of a piece of HTML, nothing left out. */
export function plainTextOf(html: string): string {
  let text = "";
  scanHtml(html, { open() {}, close() {}, text: (piece) => (text += piece) });
  return text;
}

/** Of tags without attributes, which are most: a map for each would be most of the work on a hostile page. */
const none = new Map<string, string>();

/** Returns where to read on when the page ended inside a tag. */
function scan(html: string, listener: HtmlListener): number | undefined {
  let tag = "";
  let attributes: Map<string, string> = none;
  let attributeName = "";
  let value = "";
  let text = "";
  let inside = ""; // the skipped element that is open
  let unfinished: number | undefined; // where the name of a tag ends that has not ended itself
  const flush = (): void => {
    if (text !== "" && inside === "") listener.text(text);
    text = "";
  };
  const open = (selfClosing: boolean): void => {
    unfinished = undefined;
    if (inside === "" && skipped.has(tag)) {
      if (!selfClosing || (tag !== "svg" && tag !== "math")) inside = tag;
    } else if (inside === "") listener.open(tag, attributes);
  };
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => void (text += html.slice(start, end)),
      ontextentity: (code) => void (text += String.fromCodePoint(code)),
      onopentagname: (start, end) => {
        flush();
        tag = html.slice(start, end).toLowerCase();
        attributes = none;
        unfinished = end;
      },
      onopentagend: () => open(false),
      onselfclosingtag: () => open(true),
      onclosetag: (start, end) => {
        flush();
        const name = html.slice(start, end).toLowerCase();
        if (inside === "") listener.close(name);
        else if (inside === name) inside = "";
      },
      onattribname: (start, end) => {
        attributeName = html.slice(start, end).toLowerCase();
        value = "";
      },
      onattribdata: (start, end) => void (value += html.slice(start, end)),
      onattribentity: (code) => void (value += String.fromCodePoint(code)),
      onattribend: () => {
        if (attributes === none) attributes = new Map();
        if (!attributes.has(attributeName)) attributes.set(attributeName, value);
      },
      // Feeds wrap their texts so; what is inside is text, or HTML once more.
      oncdata: (start, end, endOffset) => {
        text += html.slice(start, end - endOffset).replace(/<[^<>]*>/g, " ");
      },
      oncomment: () => {},
      ondeclaration: () => {},
      onprocessinginstruction: () => {},
      onend: flush,
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  const bracket = unfinished === undefined ? -1 : html.indexOf(">", unfinished);
  if (bracket < 0) return undefined;
  attributes = none;
  open(false);
  return bracket + 1;
}
