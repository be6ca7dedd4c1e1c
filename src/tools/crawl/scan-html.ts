/**
 * A forgiving HTML scanner: one pass over the text, a call per tag and per run of text, no tree. It is what the quick
 * extraction and the fallback read with; pages that deserve a tree get one from linkedom.
 */
export interface HtmlListener {
  open(name: string, attributes: string): void;
  close(name: string): void;
  /** Text as written, entities not yet decoded. */
  text(raw: string): void;
}

/** Elements whose content is not markup, or is not for reading. */
const skipped = new Set(["script", "style", "noscript", "template", "svg", "iframe", "textarea", "object", "math"]);

/** Reads HTML from start to end; broken markup is read as far as it makes sense. */
export function scanHtml(html: string, listener: HtmlListener): void {
  let at = 0;
  while (at < html.length) {
    const bracket = html.indexOf("<", at);
    if (bracket < 0) {
      listener.text(html.slice(at));
      return;
    }
    if (bracket > at) listener.text(html.slice(at, bracket));
    const code = html.charCodeAt(bracket + 1);
    if (html.startsWith("<![CDATA[", bracket)) {
      // Feeds wrap their texts so; what is inside is text, or HTML once more.
      const end = html.indexOf("]]>", bracket);
      listener.text(html.slice(bracket + 9, end < 0 ? undefined : end).replace(/<[^<>]*>/g, " "));
      at = end < 0 ? html.length : end + 3;
    } else if (code === 33 || code === 63) {
      at = afterDeclaration(html, bracket);
    } else if (code === 47 || isLetter(code)) {
      at = readTag(html, bracket, code === 47, listener);
    } else {
      listener.text("<");
      at = bracket + 1;
    }
  }
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

function afterDeclaration(html: string, bracket: number): number {
  if (html.startsWith("<!--", bracket)) {
    const end = html.indexOf("-->", bracket + 4);
    return end < 0 ? html.length : end + 3;
  }
  const end = html.indexOf(">", bracket);
  return end < 0 ? html.length : end + 1;
}

function readTag(html: string, bracket: number, closing: boolean, listener: HtmlListener): number {
  let at = bracket + (closing ? 2 : 1);
  const nameStart = at;
  while (at < html.length && !/[\s/>]/.test(html[at]!)) at++;
  const name = html.slice(nameStart, at).toLowerCase();
  const end = tagEnd(html, at);
  if (closing) {
    listener.close(name);
    return end + 1;
  }
  if (skipped.has(name)) {
    if (html[end - 1] === "/" && (name === "svg" || name === "math")) return end + 1;
    return afterElement(html, name, end + 1);
  }
  listener.open(name, html.slice(at, end));
  return end + 1;
}

/** Where the tag's `>` is; a `>` inside a quoted attribute does not end it. */
function tagEnd(html: string, from: number): number {
  let quote = 0;
  for (let at = from; at < html.length; at++) {
    const code = html.charCodeAt(at);
    if (quote !== 0) {
      if (code === quote) quote = 0;
    } else if (code === 62) return at;
    else if ((code === 34 || code === 39) && /[=\s]/.test(html[at - 1]!)) quote = code;
  }
  // An unclosed quote would swallow the page: fall back to the first bracket.
  const first = html.indexOf(">", from);
  return first < 0 ? html.length : first;
}

function afterElement(html: string, name: string, from: number): number {
  const closing = new RegExp(`</${name}[\\s/>]`, "gi");
  closing.lastIndex = from;
  const match = closing.exec(html);
  if (!match) return html.length;
  const end = html.indexOf(">", match.index);
  return end < 0 ? html.length : end + 1;
}

/** One attribute's value, entities decoded; undefined when it is not there. */
export function attribute(attributes: string, name: string): string | undefined {
  const match = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, "i").exec(attributes);
  return match ? decodeEntities(match[1] ?? match[2] ?? match[3] ?? "") : undefined;
}

const named: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  laquo: "«",
  raquo: "»",
  bull: "•",
  middot: "·",
  times: "×",
  divide: "÷",
  deg: "°",
  plusmn: "±",
  frac12: "½",
  frac14: "¼",
  frac34: "¾",
  euro: "€",
  pound: "£",
  yen: "¥",
  cent: "¢",
  sect: "§",
  para: "¶",
  larr: "←",
  rarr: "→",
  uarr: "↑",
  darr: "↓",
  harr: "↔",
  le: "≤",
  ge: "≥",
  ne: "≠",
  asymp: "≈",
  infin: "∞",
  minus: "−",
  shy: "",
  ensp: " ",
  emsp: " ",
  thinsp: " ",
  zwnj: "",
  zwj: "",
  lrm: "",
  rlm: "",
  szlig: "ß",
  aelig: "æ",
  oslash: "ø",
  aring: "å",
  ccedil: "ç",
  ntilde: "ñ",
  auml: "ä",
  ouml: "ö",
  uuml: "ü",
  Auml: "Ä",
  Ouml: "Ö",
  Uuml: "Ü",
  eacute: "é",
  egrave: "è",
  ecirc: "ê",
  euml: "ë",
  aacute: "á",
  agrave: "à",
  acirc: "â",
  atilde: "ã",
  iacute: "í",
  igrave: "ì",
  icirc: "î",
  iuml: "ï",
  oacute: "ó",
  ograve: "ò",
  ocirc: "ô",
  otilde: "õ",
  uacute: "ú",
  ugrave: "ù",
  ucirc: "û",
  yacute: "ý",
  Eacute: "É",
  Agrave: "À",
  Ccedil: "Ç",
  Ntilde: "Ñ",
  Aring: "Å",
  Oslash: "Ø",
  AElig: "Æ",
  alpha: "α",
  beta: "β",
  gamma: "γ",
  delta: "δ",
  epsilon: "ε",
  lambda: "λ",
  mu: "μ",
  pi: "π",
  sigma: "σ",
  omega: "ω",
  Delta: "Δ",
  Omega: "Ω",
  Sigma: "Σ",
  prime: "′",
  Prime: "″",
  dagger: "†",
  Dagger: "‡",
  permil: "‰",
  sup2: "²",
  sup3: "³",
  sup1: "¹",
  ordm: "º",
  ordf: "ª",
  iexcl: "¡",
  iquest: "¿",
  not: "¬",
  macr: "¯",
  acute: "´",
  uml: "¨",
  sum: "∑",
  radic: "√",
  part: "∂",
};

/** Replaces character references by their characters; unknown ones stay as they are. */
export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z][a-z0-9]*));?/gi, (whole, hex, decimal, name) => {
    if (name !== undefined) return named[name] ?? whole;
    const code = hex ? Number.parseInt(hex, 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000) ? String.fromCodePoint(code) : "\ufffd";
  });
}
