/**
 * Runs the tests of one tier with Node's own runner. `npm test` runs units and short journeys, `npm run test:long` runs
 * `*.long.test.ts` (live frameworks, browser, chaos, fuzz at full size), `npm run test:learning` runs `*.learning.test.ts`.
 * Words narrow it: `npm test -- chain`. The closing lines name the slowest files and count what ran, every skip
 * by its reason; in CI a skip that `expected-skips.ts` does not name is a failure, so that a missing sandbox can't pass
 * for a tested one.
 */
import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative, resolve } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { parseArgs } from "node:util";
import { expectedSkips } from "./expected-skips.ts";

/** A test that runs for so long hangs: it fails, and the others still run. */
const longestTestMs = 30 * 60_000;

const tiers = ["short", "long", "learning"] as const;

/** Whether the long tier repeats a test of the short one at its whole size. */
const sized = (path: string) => /from ".*\/test-size\.ts"/.test(readFileSync(path, "utf8"));

/** The tier a test file belongs to, by its name. */
export function tierOf(path: string): (typeof tiers)[number] {
  return tiers.find((tier) => path.endsWith(`.${tier}.test.ts`)) ?? "short";
}

/** Skips that CI must not accept. */
export function unexpectedSkips(reasons: Iterable<string>): string[] {
  return [...reasons].filter((reason) => !expectedSkips.some((pattern) => pattern.test(reason)));
}

/** The processor time of this process and of all that it started, where the system tells it: a busy machine changes it little. */
function processorTime(): string {
  if (process.platform !== "linux") return "processor time unknown";
  // After the name in brackets: user and system ticks of the process are fields 14 and 15, those of ended children 16 and 17.
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)!.split(" ");
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return `${Math.round(ticks / 100)} s of processor time`;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: {
      tier: { type: "string", default: "short" },
      // One more than the cores: many tests wait for children, disks and limits.
      concurrency: { type: "string", default: String(availableParallelism() + 1) },
    },
    allowPositionals: true,
  });
  const wanted = (path: string) =>
    tierOf(path) === values.tier || (values.tier === "long" && tierOf(path) === "short" && sized(path));
  const files = ["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts", "bench/learning/**/*.test.ts"]
    .flatMap((pattern) => globSync(pattern))
    .filter((path) => !path.includes("node_modules") && wanted(path))
    .filter((path) => positionals.length === 0 || positionals.some((word) => path.includes(word)))
    .sort();
  if (files.length === 0) {
    console.error(`no test file of the tier "${values.tier}" matches ${positionals.join(", ") || "anything"}`);
    return 2;
  }
  if (values.tier === "long") process.env["COA_FULL"] ??= "1";
  // Every file is a process of its own, and many start others: they share the compiled sources.
  process.env["NODE_COMPILE_CACHE"] ??= resolve("node_modules/.cache/tests");
  const counts = { passed: 0, failed: 0 };
  const skips = new Map<string, number>();
  const seconds = new Map<string, number>();
  let [arrived, reported] = [0, 0];
  const started = performance.now();
  const events = run({
    files,
    concurrency: Number(values.concurrency),
    timeout: longestTestMs,
    execArgv: ["--import", new URL("./test-process.ts", import.meta.url).href],
  });
  const ended = ({ details }: { details: { type?: string } }) => {
    if (details.type !== "suite") arrived++;
  };
  events.on("test:fail", ended);
  events.on("test:pass", ended);
  events.on("test:fail", ({ details }) => {
    if (details.type !== "suite") counts.failed++;
  });
  events.on("test:pass", ({ skip, details }) => {
    if (skip !== undefined) {
      const reason = typeof skip === "string" && skip !== "" ? skip : "no reason given";
      skips.set(reason, (skips.get(reason) ?? 0) + 1);
    } else if (details.type !== "suite") counts.passed++;
  });
  events.on("test:summary", ({ file, duration_ms, counts: own }) => {
    if (file === undefined) return;
    seconds.set(relative(".", file), duration_ms / 1000);
    reported += own.tests;
  });
  await new Promise<void>((resolve) => {
    events.compose(new spec()).pipe(process.stdout, { end: false });
    events.on("end", resolve);
  });
  const slowest = [...seconds].sort((a, b) => b[1] - a[1]).slice(0, 15);
  for (const [file, time] of slowest) console.log(`${time.toFixed(1).padStart(7)} s  ${file}`);
  const skipped = [...skips.values()].reduce((sum, count) => sum + count, 0);
  for (const [reason, count] of skips) console.log(`skipped ${count}: ${reason}`);
  const refused = process.env["CI"] ? unexpectedSkips(skips.keys()) : [];
  for (const reason of refused) console.log(`a skip that CI does not expect: ${reason}`);
  // A file's own summary is the last that it sends: without it, tests before it may be missing too.
  const cutOff = files.filter((file) => !seconds.has(file));
  for (const file of cutOff) console.log(`ended before its whole report was here: ${file}`);
  const lost = Math.max(0, reported - arrived);
  if (lost > 0) console.log(`${lost} tests ran but their results did not arrive`);
  console.log(`tier ${values.tier}: ${Math.round((performance.now() - started) / 1000)} s, ${processorTime()}`);
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${skipped} skipped`);
  return counts.failed + refused.length + cutOff.length + lost > 0 ? 1 : 0;
}

// Not `process.exit`: what a pipe has not yet taken would be lost.
if (import.meta.main) process.exitCode = await main();
