/**
 * Real HTML pages for tests and benchmarks, from the documentation packages a machine happens to have. Each comes with
 * the text of the element that its makers put the content in, as the reference for what an extraction should find.
 */
import { globSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { parseHTML } from "linkedom";

export interface InstalledPage {
  path: string;
  html: string;
  /** Text of the content element. */
  reference: string;
}

const roots = () => [
  "/usr/share/doc/**/*.html",
  "/usr/share/gtk-doc/**/*.html",
  "/usr/lib/node_modules/npm/docs/**/*.html",
  "/usr/local/lib/node_modules/npm/docs/**/*.html",
  ...["book", "reference", "nomicon", "edition-guide", "std/collections", "std/net", "cargo"].map((part) =>
    join(homedir(), `.rustup/toolchains/stable-*/share/doc/rust/html/${part}/**/*.html`),
  ),
];

/** Where documentation generators put the content. */
const containers = "main, [role=main], article, #apicontent, div.chapter, div.refentry, #content";

/** Up to `count` pages, spread evenly over those installed; the same each time on one machine. */
export function installedPages(count: number, limits: { minBytes?: number; maxBytes?: number } = {}): InstalledPage[] {
  const { minBytes = 6_500, maxBytes = 200_000 } = limits;
  const families = roots()
    .map((pattern) =>
      globSync(pattern)
        .filter((path) => {
          const { size } = statSync(path, { throwIfNoEntry: false }) ?? { size: 0 };
          return size >= minBytes && size <= maxBytes;
        })
        .sort(),
    )
    .filter((paths) => paths.length > 0);
  const pages: InstalledPage[] = [];
  const share = Math.ceil(count / Math.max(1, families.length));
  for (const paths of families) {
    // More candidates than needed: some have no container.
    const stride = Math.max(1, Math.floor(paths.length / (share * 2)));
    let taken = 0;
    for (let i = 0; i < paths.length && taken < share; i += stride) {
      const page = readPage(paths[i]!);
      if (!page) continue;
      pages.push(page);
      taken++;
    }
  }
  return pages.slice(0, count);
}

function readPage(path: string): InstalledPage | undefined {
  const html = readFileSync(path, "utf8");
  const { document } = parseHTML(html);
  const size = (element: { textContent: string | null }) => element.textContent?.length ?? 0;
  const [container] = [...document.querySelectorAll(containers)].sort((a, b) => size(b) - size(a));
  if (!container) return undefined;
  for (const element of container.querySelectorAll("script, style, template, noscript")) element.remove();
  const reference = container.textContent ?? "";
  return reference.trim().length >= 500 ? { path, html, reference } : undefined;
}

/** The page with everything removed that names its content element, so that an extraction has to find it by itself. */
export function withoutHints(html: string): string {
  return html
    .replace(/<(\/?)(?:main|article)(?=[\s>])/gi, "<$1div")
    .replace(/\srole\s*=\s*["']?main["']?/gi, "")
    .replace(/\sid\s*=\s*["']?(?:apicontent|content|main-content)["']?/gi, "");
}

/** Share of the words found that belong (precision) and of those that belong that were found (recall). */
export function wordOverlap(found: string, reference: string): { precision: number; recall: number; f1: number } {
  const words = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const left = new Map<string, number>();
  const expected = words(reference);
  for (const word of expected) left.set(word, (left.get(word) ?? 0) + 1);
  const given = words(found);
  let common = 0;
  for (const word of given) {
    const count = left.get(word) ?? 0;
    if (count === 0) continue;
    common++;
    left.set(word, count - 1);
  }
  const precision = common / Math.max(1, given.length);
  const recall = common / Math.max(1, expected.length);
  return { precision, recall, f1: (2 * precision * recall) / Math.max(1e-9, precision + recall) };
}
