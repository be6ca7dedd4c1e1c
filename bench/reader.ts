/** The tag reader: bytes per second on chains as models write them, from 1 KB to 100 MB, whole chunks and single tokens. */
import type { Figure } from "../scripts/bench.ts";
import { tagReader } from "../src/language/tag-reader.ts";

const options = {
  tags: [
    "think",
    "plan",
    "web_search",
    "crawl_page",
    "observation",
    "reflection",
    "suggested_answer",
    "double_check",
    "answer",
  ],
};
const step =
  "<think>The first page gives the year, but a < b is not what the question asks; the <b>second</b> source has to confirm it.</think>\n" +
  "<web_search>population of the second largest city in 1987</web_search>\n<observation>\n" +
  "Found 5 results: the city had 413,000 people in the census of that year, and 1 < 2 as always. ".repeat(6) +
  "\n</observation>\n\n";

function textOf(bytes: number): string {
  return step.repeat(Math.ceil(bytes / step.length)).slice(0, bytes);
}

/** Megabytes per second of CPU time for a text given in chunks of this size. */
function speed(text: string, chunkSize: number, milliseconds: number): number {
  const chunks: string[] = [];
  for (let from = 0; from < text.length; from += chunkSize) chunks.push(text.slice(from, from + chunkSize));
  const repeats = Math.ceil(20_000 / text.length); // asking for the time must not be what is measured
  let bytes = 0;
  let segments = 0;
  let spentMs = 0;
  const began = process.cpuUsage();
  while (spentMs < milliseconds) {
    for (let repeat = 0; repeat < repeats; repeat++) {
      const reader = tagReader(options, { close: () => void segments++ });
      for (const chunk of chunks) reader.write(chunk);
      reader.end();
      bytes += text.length;
    }
    const { user, system } = process.cpuUsage(began);
    spentMs = (user + system) / 1000;
  }
  if (segments === 0) throw new Error("nothing was read");
  return bytes / 1e3 / spentMs;
}

export default async function bench(): Promise<Figure[]> {
  const sizes = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
  const best = new Map<number, number>();
  speed(textOf(1e6), 16_384, 300); // warm
  for (let round = 0; round < 3; round++) {
    for (const size of sizes) {
      const measured = speed(textOf(size), 16_384, 150);
      best.set(size, Math.max(best.get(size) ?? 0, measured));
    }
  }
  const figures: Figure[] = [...best].map(([size, value]) => ({
    name: `reading ${size >= 1e6 ? `${size / 1e6} MB` : `${size / 1e3} KB`}`,
    value,
    unit: "MB/s",
    target: ">= 100 MB/s",
    met: value >= 100,
  }));
  const linear = best.get(1e8)! / best.get(1e6)!;
  figures.push({
    name: "speed at 100 MB against 1 MB",
    value: linear,
    unit: "",
    target: ">= 0.7 (linear)",
    met: linear >= 0.7,
  });
  figures.push({ name: "1 MB in chunks of 4 characters", value: speed(textOf(1e6), 4, 500), unit: "MB/s" });
  return figures;
}
