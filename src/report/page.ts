/** What all reports share: one style sheet (light and dark), one page around a body, one table, one way to escape text. */

/** Text made safe for HTML and SVG. */
export function escapeHtml(text: string): string {
  return text.replace(
    /[&<>"']/g,
    (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[sign]!,
  );
}

/** A cell that is already HTML; plain strings are escaped. */
export interface HtmlCell {
  html: string;
}

/** A table with its headings first. Columns after the first are figures, except those named in `text`. */
export function htmlTable(cells: readonly (readonly (string | HtmlCell)[])[], text: readonly number[] = []): string {
  const [head, ...rows] = cells.map((row, place) => {
    const tag = place === 0 ? "th" : "td";
    const written = row.map((cell, column) => {
      const content = typeof cell === "string" ? escapeHtml(cell) : cell.html;
      return `<${tag}${text.includes(column) ? ' class="text"' : ""}>${content}</${tag}>`;
    });
    return `<tr>${written.join("")}</tr>`;
  });
  return `<div class="wide"><table><thead>${head}</thead><tbody>${rows.join("")}</tbody></table></div>`;
}

/** One HTML file that needs nothing else and runs nothing. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${pageStyle}</style>
<main>
<h1>${escapeHtml(title)}</h1>
${body}
</main>
</html>
`;
}

/** Twelve colours that people can tell apart, on white and on dark: [light, dark]. */
export const systemColours = [
  ["#2563a8", "#6aa9ee"],
  ["#c2571a", "#f09055"],
  ["#2f8a57", "#63c88f"],
  ["#8a4fb0", "#bb8ae0"],
  ["#b8860b", "#dfb74a"],
  ["#c03a5b", "#ee7d98"],
  ["#0a8f9e", "#3fd5e6"],
  ["#6b7280", "#98a0aa"],
  ["#d02fc0", "#ff5cf0"],
  ["#7a1f1f", "#c7564a"],
  ["#1f2f9e", "#7078ff"],
  ["#3f5200", "#c4ea4a"],
] as const;

const colours = (theme: 0 | 1) => systemColours.map((pair, i) => `--c${i}:${pair[theme]}`).join(";");

/** The style sheet of every report. */
const pageStyle = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1c2430;--soft:#5b6675;--line:#dfe4ea;--card:#f6f8fa;${colours(0)}}
@media (prefers-color-scheme:dark){:root{--bg:#12161c;--fg:#e4e9ef;--soft:#98a4b3;--line:#2b333d;--card:#1a2028;${colours(1)}}}
*{box-sizing:border-box}body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif}
main{max-width:1040px;margin:0 auto;padding:24px 16px 64px}h1{font-size:1.7rem;margin:.2em 0}h2{margin:2em 0 .4em;font-size:1.25rem}h3{margin:1.2em 0 .3em;font-size:1rem}
.lead{font-size:1.05rem}.note,small{color:var(--soft);font-size:.85rem}small{display:block}.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums;min-width:100%}th,td{padding:6px 10px;border-bottom:1px solid var(--line);text-align:right}td{white-space:nowrap}th.text,td.text{text-align:left;white-space:normal}th:first-child,td:first-child{text-align:left;font-weight:600}
svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;fill:var(--soft)}svg text.label{fill:var(--fg);font-weight:600}svg .own text.label{fill:var(--own)}.grid{stroke:var(--line)}.interval{stroke:var(--fg);stroke-width:1.5}
.bar{background:var(--c0);height:.8rem;display:inline-block;border-radius:2px}.legend span{margin-right:18px}.legend i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:6px}
section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:4px 16px 12px;margin:12px 0}section p{white-space:pre-wrap;overflow-wrap:anywhere}ul{list-style:none;padding:0;margin:0}li{border-left:4px solid var(--line);padding:4px 0 4px 12px;margin:8px 0;overflow-wrap:anywhere}li.right{border-color:var(--c2)}li.wrong{border-color:var(--c5)}li em{color:var(--soft)}
details{margin-top:6px}summary{cursor:pointer;color:var(--c0)}
`;
