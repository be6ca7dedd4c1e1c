/**
 * Runs the tests of one tier with Node's own runner. `npm test` runs units and short journeys, `npm run test:long` runs
 * `*.long.test.ts` (live frameworks, browser, chaos, fuzz at full size), `npm run test:learning` runs `*.learning.test.ts`.
 * Words narrow it: `npm test -- chain`. The closing lines name the slowest files and count what ran, every skip
 * by its reason; in CI a skip that `expected-skips.ts` does not name is a failure, so that a missing sandbox can't pass
 * for a tested one.
 */
import { globSync, readFileSync } from "node:fs";
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

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    options: { tier: { type: "string", default: "short" }, concurrency: { type: "string", default: "2" } },
    allowPositionals: true,
  });
  const wanted = (path: string) =>
    tierOf(path) === values.tier || (values.tier === "long" && tierOf(path) === "short" && sized(path));
  const files = ["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"]
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
  const started = performance.now();
  const events = run({
    files,
    concurrency: Number(values.concurrency),
    timeout: longestTestMs,
    // A server that a failed test left open must not keep its process alive.
    execArgv: ["--test-force-exit"],
  });
  events.on("test:fail", ({ details }) => {
    if (details.type !== "suite") counts.failed++;
  });
  events.on("test:pass", ({ skip, details }) => {
    if (skip !== undefined) {
      const reason = typeof skip === "string" && skip !== "" ? skip : "no reason given";
      skips.set(reason, (skips.get(reason) ?? 0) + 1);
    } else if (details.type !== "suite") counts.passed++;
  });
  events.on("test:summary", ({ file, duration_ms }) => {
    if (file !== undefined) seconds.set(relative(".", file), duration_ms / 1000);
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
  console.log(`tier ${values.tier}: ${Math.round((performance.now() - started) / 1000)} s`);
  console.log(`${counts.passed} passed, ${counts.failed} failed, ${skipped} skipped`);
  return counts.failed > 0 || refused.length > 0 ? 1 : 0;
}

if (import.meta.main) process.exit(await main());
