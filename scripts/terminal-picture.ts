/**
 * Draws what a command prints in a colour terminal as an SVG picture: `node scripts/terminal-picture.ts out.svg -- coa ask …`.
 * The README's picture of a chain is made with it, so it shows what the command really printed.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";

const colours: Readonly<Record<number, string>> = {
  31: "#ff7b72",
  32: "#7ee787",
  33: "#e3b341",
  34: "#79c0ff",
  35: "#d2a8ff",
  36: "#56d4dd",
  90: "#8b949e",
};
const columns = 108;
const lineHeight = 19;
const characterWidth = 8.2;

interface Span {
  text: string;
  style: string;
}

/** One line of text with SGR codes as spans of one style each. */
function spansOf(line: string, codes: Set<number>): Span[] {
  const spans: Span[] = [];
  // Every second part is the list of codes of an escape sequence.
  for (const [at, part] of line.split(/\u001b\[([\d;]*)m/).entries()) {
    if (at % 2 === 0) {
      if (part) spans.push({ text: stripVTControlCharacters(part), style: styleOf(codes) });
      continue;
    }
    for (const code of (part || "0").split(";").map(Number)) {
      if (code === 0 || code === 39) codes.clear();
      else if (code === 22) for (const weight of [1, 2]) codes.delete(weight);
      else codes.add(code);
    }
  }
  return spans;
}

function styleOf(codes: ReadonlySet<number>): string {
  const colour = [...codes].map((code) => colours[code]).findLast(Boolean);
  const parts = [colour && `fill="${colour}"`, codes.has(1) && 'font-weight="bold"', codes.has(2) && 'opacity="0.65"'];
  return parts.filter(Boolean).join(" ");
}

/** Breaks a line that is wider than the picture, as a terminal would. */
function wrapped(spans: readonly Span[]): Span[][] {
  const lines: Span[][] = [[]];
  let column = 0;
  for (const { text, style } of spans) {
    for (let rest = text; rest.length > 0; ) {
      if (column === columns) {
        lines.push([]);
        column = 0;
      }
      const piece = rest.slice(0, columns - column);
      lines.at(-1)!.push({ text: piece, style });
      column += piece.length;
      rest = rest.slice(piece.length);
    }
  }
  return lines;
}

const escaped = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const [file, dashes, ...command] = process.argv.slice(2);
if (!file || dashes !== "--" || command[0] !== "coa") {
  console.error("usage: node scripts/terminal-picture.ts <out.svg> -- coa <arguments>");
  process.exit(2);
}
const main = join(import.meta.dirname, "..", "src", "cli", "main.ts");
// A shell joins both streams in the order in which they were written.
const { stdout, status } = spawnSync(
  "sh",
  ["-c", 'exec "$@" 2>&1', "sh", process.execPath, main, ...command.slice(1)],
  {
    encoding: "utf8",
    env: { ...process.env, FORCE_COLOR: "1" },
  },
);
if (status !== 0) {
  console.error(stdout);
  process.exit(1);
}
const codes = new Set<number>();
const shown = `\u001b[1m$ ${command.join(" ")}\u001b[0m\n${stdout}`.trimEnd();
const lines = shown.split("\n").flatMap((line) => wrapped(spansOf(line, codes)));
const rows = lines.map((spans, row) => {
  const parts = spans.map(({ text, style }) => `<tspan ${style}>${escaped(text)}</tspan>`).join("");
  return `<text x="16" y="${28 + row * lineHeight}" xml:space="preserve">${parts}</text>`;
});
const width = Math.ceil(32 + columns * characterWidth);
writeFileSync(
  resolve(file),
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${32 + lines.length * lineHeight}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13.5" fill="#e6edf3">
<title>${escaped(`What ${command.join(" ")} prints`)}</title>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${rows.join("\n")}
</svg>
`,
);
