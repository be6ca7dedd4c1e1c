/**
 * Passages of 100 words of real English for search benchmarks: manual pages and documentation installed on this machine,
 * in a fixed order. Where a benchmark needs more than there are, new ones are made of the halves of two real ones, which
 * keeps word frequencies and lengths as they are.
 */
import { globSync, readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { seededRandom } from "../../src/base/work/random.ts";

const sources = [
  "/usr/share/man/man[1-8]/*.gz",
  "/usr/share/doc/**/*.{html,txt,md,gz}",
  join(
    homedir(),
    ".rustup/toolchains/stable-*/share/doc/rust/html/{book,reference,std,core,alloc,cargo,nomicon}/**/*.html",
  ),
  join(import.meta.dirname, "../../node_modules/**/*.md"),
];

/** Real passages, at most `count`. */
export function* realPassages(count: number): Generator<string> {
  let given = 0;
  for (const source of sources) {
    for (const path of globSync(source).sort()) {
      for (const passage of passagesOf(path)) {
        yield passage;
        if (++given >= count) return;
      }
    }
  }
}

/** Exactly `count` passages: the real ones, then mixed ones. */
export function* passages(count: number): Generator<string> {
  // A sample to mix from: keeping them all would count in memory figures.
  const kept: string[] = [];
  let made = 0;
  for (const passage of realPassages(count)) {
    if (made++ % Math.ceil(count / 20_000) === 0) kept.push(passage);
    yield passage;
  }
  if (kept.length === 0) throw new Error("no documentation installed to take passages from");
  const random = seededRandom(5).next;
  const pick = () => kept[Math.floor(random() * kept.length)]!;
  for (; made < count; made++) {
    const [first, second] = [pick(), pick()];
    yield `${first.slice(0, first.length >> 1)} ${second.slice(second.length >> 1)}`;
  }
}

/** Queries of two kinds in turn: a few words of a passage, and a stretch of it. Each word once: engines differ on repeats. */
export function makeQueries(texts: readonly string[], count: number, seed: number): string[] {
  const random = seededRandom(seed).next;
  return Array.from({ length: count }, (_, number) => {
    const words = texts[Math.floor(random() * texts.length)]!.match(/[A-Za-z]{2,}/g) ?? ["empty"];
    const length = 3 + Math.floor(random() * 6);
    const start = Math.floor(random() * Math.max(1, words.length - length));
    const chosen =
      number % 2 === 0
        ? Array.from({ length }, () => words[Math.floor(random() * words.length)]!)
        : words.slice(start, start + length + 2);
    return [...new Set(chosen.map((word) => word.toLowerCase()))].join(" ");
  });
}

function passagesOf(path: string): string[] {
  const about = statSync(path);
  if (!about.isFile() || about.size > 3_000_000) return [];
  const bytes = readFileSync(path);
  let text: string;
  try {
    text = (path.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
  } catch {
    return [];
  }
  if (text.slice(0, 1000).includes("\0")) return [];
  if (path.endsWith(".html")) text = text.replace(/<(script|style)[\s\S]*?<\/\1>|<[^>]+>/g, " ");
  if (path.includes("/man/")) text = text.replace(/^[.'].*$/gm, " ").replace(/\\f[A-Z]|\\[&|-]/g, "");
  const words = text.split(/\s+/);
  const found: string[] = [];
  for (let start = 0; start + 50 < words.length; start += 100) found.push(words.slice(start, start + 100).join(" "));
  return found;
}
