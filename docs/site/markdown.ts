/** The Markdown that our pages are written in, as HTML: headings, paragraphs, lists, tables, fences, quotes, links, pictures. */

/** A part of a page, for the search. */
export interface Part {
  id: string;
  title: string;
  text: string;
}

export interface RenderedPage {
  title: string;
  html: string;
  parts: Part[];
}

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (one) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[one]!);

/** The name of a heading in an address, as GitHub makes it. */
const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s/g, "-");

/** Renders a page; `link` turns an address of the sources into one of the site. */
export function renderMarkdown(source: string, link: (address: string) => string): RenderedPage {
  const lines = source.replace(/<!--[\s\S]*?-->\n?/g, "").split("\n");
  const parts: Part[] = [];
  const html: string[] = [];
  const seen = new Map<string, number>();
  let at = 0;
  const inline = (text: string) => renderInline(text, link);
  const note = (text: string) => {
    const part = parts.at(-1);
    if (part) part.text += ` ${text}`;
  };
  const take = (matches: (line: string) => boolean): string[] => {
    const from = at;
    while (at < lines.length && matches(lines[at]!)) at++;
    return lines.slice(from, at);
  };
  while (at < lines.length) {
    const line = lines[at]!;
    const heading = /^(#{1,6}) (.*)$/.exec(line);
    const fence = /^(\s*)```(\w*)/.exec(line);
    if (line.trim() === "") at++;
    else if (fence) {
      at++;
      const code = take((one) => !one.trim().startsWith("```"));
      at++;
      note(code.join(" "));
      html.push(
        `<pre tabindex="0"><code>${escapeHtml(code.map((one) => one.slice(fence[1]!.length)).join("\n"))}</code></pre>`,
      );
    } else if (heading) {
      at++;
      const title = heading[2]!.replace(/[`*]|\]\([^)]*\)|\[/g, "");
      const count = seen.get(slug(title)) ?? 0;
      seen.set(slug(title), count + 1);
      const id = slug(title) + (count > 0 ? `-${count}` : "");
      parts.push({ id, title, text: "" });
      const level = heading[1]!.length;
      html.push(`<h${level} id="${id}">${inline(heading[2]!)}</h${level}>`);
    } else if (/^\|/.test(line)) {
      const rows = take((one) => one.startsWith("|")).map(cells);
      note(rows.flat().join(" "));
      html.push(table(rows, inline));
    } else if (/^\s*(?:[-*]|\d+\.) /.test(line)) {
      // A list goes on over indented lines, and over lines that continue a sentence.
      const items = take((one) => one.trim() !== "" && !/^(?:#|\||```)/.test(one));
      note(items.join(" "));
      html.push(list(items, inline));
    } else if (line.startsWith(">")) {
      const quoted = take((one) => one.startsWith(">")).map((one) => one.slice(1));
      note(quoted.join(" "));
      html.push(`<blockquote><p>${inline(quoted.join(" ").trim())}</p></blockquote>`);
    } else {
      const from = at++;
      take((one) => one.trim() !== "" && !/^(?:#{1,6} |\||```|>|\s*(?:[-*]|\d+\.) )/.test(one));
      const text = lines.slice(from, at).join("\n");
      note(text);
      html.push(`<p>${inline(text)}</p>`);
    }
  }
  return { title: parts[0]?.title ?? "", html: html.join("\n"), parts };
}

function cells(row: string): string[] {
  return row
    .trim()
    .replace(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function table([head = [], , ...rows]: string[][], inline: (text: string) => string): string {
  const row = (values: string[], tag: string) =>
    `<tr>${values.map((value) => (value ? `<${tag}>${inline(value)}</${tag}>` : "<td></td>")).join("")}</tr>`;
  return `<div class="table" tabindex="0"><table><thead>${row(head, "th")}</thead><tbody>${rows.map((one) => row(one, "td")).join("")}</tbody></table></div>`;
}

function list(lines: string[], inline: (text: string) => string): string {
  const indent = /^ */.exec(lines[0]!)![0].length;
  const ordered = /^\s*\d+\./.test(lines[0]!);
  const items: string[][] = [];
  for (const line of lines) {
    const own = /^( *)(?:[-*]|\d+\.) (.*)$/.exec(line);
    if (own && own[1]!.length <= indent) items.push([own[2]!]);
    else items.at(-1)!.push(line);
  }
  const html = items.map((item) => {
    const inner = item.findIndex((line, index) => index > 0 && /^\s*(?:[-*]|\d+\.) /.test(line));
    const text = inline(
      item
        .slice(0, inner < 0 ? undefined : inner)
        .map((line) => line.trim())
        .join("\n"),
    );
    return `<li>${text}${inner < 0 ? "" : list(item.slice(inner), inline)}</li>`;
  });
  return ordered ? `<ol>${html.join("")}</ol>` : `<ul>${html.join("")}</ul>`;
}

/** Code first, so that nothing inside it is read as anything else. */
function renderInline(text: string, link: (address: string) => string): string {
  const codes: string[] = [];
  return escapeHtml(text.replace(/(`+)([\s\S]+?)\1/g, (_, __, code: string) => `\uE000${codes.push(code) - 1}\uE001`))
    .replace(
      /!\[([^\]]*)\]\(([^)\s]+)\)/g,
      (_, alt: string, src: string) => `<img src="${link(src)}" alt="${alt}" loading="lazy">`,
    )
    .replace(/\[([^\]]+)\]\(([^)\s]+)\)/g, (_, label: string, to: string) => `<a href="${link(to)}">${label}</a>`)
    .replace(/&lt;(https?:[^&\s]+)&gt;/g, '<a href="$1">$1</a>')
    .replace(/\*\*([\s\S]+?)\*\*/g, "<strong>$1</strong>")
    .replace(/(?<![\w*])\*(?!\s)([^*]+?)\*(?![\w*])/g, "<em>$1</em>")
    .replace(/\uE000(\d+)\uE001/g, (_, index: string) => `<code>${escapeHtml(codes[Number(index)]!)}</code>`);
}
