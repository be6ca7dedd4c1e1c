/**
 * A folder of a million recorded calls (nine a task, 20 kB, users side by side, no run ids): how long the index takes to be
 * made, the list, and one run; each in a process of its own, so that memory is its own too. COA_BENCH_CALLS changes the number.
 */
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Figure } from "../../scripts/bench.ts";
import { openRunIndex } from "../../src/record/recordings/run-index.ts";
import { dayOfCalls, writeLog } from "../../test/fixtures/day-of-calls.ts";

const calls = Number(process.env["COA_BENCH_CALLS"] ?? 1_000_000);

interface Measured {
  cpu: number;
  ms: number;
  peakMb: number;
  count: number;
}

/** Figures of the folder; it is deleted afterwards. */
export async function largeFolder(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "coa-bench-large-"));
  try {
    const users = Math.ceil(calls / 9);
    await writeLog(join(folder, "calls-day.jsonl"), dayOfCalls(users, { everyMs: 250, padding: 2200 }));
    const bytes = (await stat(join(folder, "calls-day.jsonl"))).size;
    const [build, list, one] = ["build", "list", "one"].map((what) => inProcess(what, folder));
    return [
      { name: "recorded calls", value: calls, unit: "calls" },
      { name: "their log", value: bytes / 2 ** 20, unit: "MB" },
      { name: "index made", value: build!.cpu, unit: "cpu-s" },
      { name: "memory while it is made", value: build!.peakMb, unit: "MB" },
      { name: "list of all runs", value: list!.cpu, unit: "cpu-s", target: "< 10 cpu-s", met: list!.cpu < 10 && list!.count === users }, // biome-ignore format: one figure a line
      { name: "memory of the list", value: list!.peakMb, unit: "MB" },
      { name: "one run", value: one!.ms, unit: "ms", target: "< 100 ms", met: one!.ms < 100 && one!.count === 1 },
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function inProcess(what: string, folder: string): Measured {
  const { stdout, stderr } = spawnSync(process.execPath, [import.meta.filename, what, folder], { encoding: "utf8" });
  if (stdout === "") throw new Error(stderr);
  return JSON.parse(stdout) as Measured;
}

if (process.argv[1] === import.meta.filename) {
  const [what, folder] = process.argv.slice(2) as [string, string];
  let wanted = "";
  if (what === "one") {
    const index = await openRunIndex(folder);
    wanted = (await index.newest(1000)).at(-1)!;
    index.close();
  }
  const before = process.cpuUsage();
  const from = performance.now();
  const index = await openRunIndex(folder);
  let count = 0;
  if (what === "one") count = (await index.find(wanted)).length;
  else if (what === "list") for await (const { question } of index.summaries()) if (question !== "") count++;
  const ms = performance.now() - from;
  const { user, system } = process.cpuUsage(before);
  const peakMb = process.resourceUsage().maxRSS / 1024;
  console.log(JSON.stringify({ cpu: (user + system) / 1e6, ms, peakMb, count } satisfies Measured));
}
