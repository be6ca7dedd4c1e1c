/**
 * Code sandboxes against a bare python3, rounds interleaved in one run: what one small program costs, how long a child
 * takes to start, how many programs per second a few children serve. The program is the same everywhere.
 */
import { spawn } from "node:child_process";
import type { Figure } from "../scripts/bench.ts";
import type { Sandbox } from "../src/core/sandbox.ts";
import { bubblewrapProblem, bubblewrapSandbox } from "../src/tools/sandbox/bubblewrap.ts";
import { systemProgram } from "../src/tools/sandbox/launch.ts";
import { pyodideSandbox } from "../src/tools/sandbox/pyodide-launch.ts";

const code = "print(sum(range(1000)))";
const rounds = Number(process.env["COA_BENCH_ROUNDS"] ?? 60);

function bare(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(systemProgram("python3") ?? "python3", ["-c", code], { stdio: ["ignore", "pipe", "inherit"] });
    child.stdout.resume();
    child.once("error", reject);
    child.once("close", () => resolve());
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

async function perSecond(count: number, atOnce: number, work: () => Promise<unknown>): Promise<number> {
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await work();
  };
  const ms = await timed(() => Promise.all(Array.from({ length: atOnce }, worker)));
  return (count / ms) * 1000;
}

export default async function bench(): Promise<Figure[]> {
  const hasBubblewrap = bubblewrapProblem() === undefined;
  const limits = { wallMs: 60_000, cpuMs: 60_000 };
  const pyodide = pyodideSandbox({ limits });
  const shared = pyodideSandbox({ limits, isolation: "run", warm: 2 });
  const standby = hasBubblewrap ? bubblewrapSandbox({ limits, warm: 2 }) : undefined;
  const cold = hasBubblewrap ? bubblewrapSandbox({ limits, warm: 0 }) : undefined;
  const run = (sandbox: Sandbox) => async () => {
    const result = await sandbox.run({ language: "python", code, sessionKey: "bench" });
    if (result.stdout !== "499500\n") throw new Error(`${sandbox.level.kind}: ${JSON.stringify(result)}`);
  };
  await Promise.all([pyodide.warmUp(), shared.warmUp()]);
  const contestants: Record<string, () => Promise<unknown>> = {
    bare,
    pyodide: run(pyodide),
    shared: run(shared),
    ...(standby && cold ? { standby: run(standby), cold: run(cold) } : {}),
  };
  const times: Record<string, number[]> = {};
  const warming = 100; // V8 compiles the hot parts of Python during these
  for (let round = 0; round < warming; round++) for (const name of ["pyodide", "shared"]) await contestants[name]?.();
  for (let round = 0; round < rounds; round++) {
    for (const [name, work] of Object.entries(contestants)) (times[name] ??= []).push(await timed(work));
  }
  const starts: number[] = [];
  for (let round = 0; round < 5; round++) {
    const fresh = pyodideSandbox({ limits, warm: 0 });
    starts.push(await timed(run(fresh)));
    await fresh.close();
  }
  const rates: Record<string, number[]> = {};
  for (let round = 0; round < 3; round++) {
    (rates["bare"] ??= []).push(await perSecond(60, 8, bare));
    if (standby) (rates["standby"] ??= []).push(await perSecond(60, 8, run(standby)));
    (rates["shared"] ??= []).push(await perSecond(600, 64, run(shared)));
  }
  await Promise.all([pyodide, shared, standby, cold].map((sandbox) => sandbox?.close()));

  const bareMs = median(times["bare"] ?? []);
  const against = (name: string, label: string, target?: { atLeast?: number; atMost?: number }): Figure => {
    const value = median(times[name] ?? []);
    const ratio = bareMs / value;
    const figure: Figure = { name: label, value, unit: "ms p50", peer: `bare python3 ${bareMs.toFixed(1)} ms`, ratio };
    if (target?.atLeast)
      return { ...figure, target: `at least ${target.atLeast}x faster`, met: ratio >= target.atLeast };
    if (target?.atMost)
      return { ...figure, target: `at most ${target.atMost}x as long`, met: 1 / ratio <= target.atMost };
    return figure;
  };
  const bareRate = median(rates["bare"] ?? []);
  const rate = (name: string, label: string): Figure => {
    const value = median(rates[name] ?? []);
    return {
      name: label,
      value,
      unit: "runs/s",
      peer: `bare python3, 8 at once ${bareRate.toFixed(0)}/s`,
      ratio: value / bareRate,
    };
  };
  return [
    against("pyodide", "warm Pyodide, own child", { atLeast: 8 }),
    against("shared", "warm Pyodide, shared child, cleaned after each run", { atLeast: 8 }),
    ...(hasBubblewrap
      ? [
          against("standby", "bubblewrap, started ahead", { atMost: 1.7 }),
          against("cold", "bubblewrap, started on demand"),
          rate("standby", "bubblewrap, 8 at once"),
        ]
      : []),
    rate("shared", "Pyodide, 2 shared children, 64 at once"),
    { name: "Pyodide child from snapshot to first answer", value: median(starts), unit: "ms p50" },
  ];
}
