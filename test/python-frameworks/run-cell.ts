/** Records one cell live: the program unchanged, against the scripted model, one way; then compares with the truth. */
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TeamRun } from "../../src/core/team-run.ts";
import { startCollector } from "../../src/record/collector/start-collector.ts";
import { startProxy } from "../../src/record/proxy/start-proxy.ts";
import { readRecordings } from "../../src/record/recordings.ts";
import { type Cell, loads, pythonOf } from "./frameworks.ts";
import { judge, type Verdict } from "./judge.ts";
import { startScriptedModel, type TrueCall } from "./scripted-model.ts";

export interface CellResult {
  verdict: Verdict | "failed" | "no spans";
  /** Why it is not right. */
  why: string[];
  runs: TeamRun[];
  truth: TrueCall[];
}

const main = join(import.meta.dirname, "../../src/cli/main.ts");

/** Records a cell into `folder`, or into one that is gone afterwards. */
export function runCell(cell: Cell, folder?: string): Promise<CellResult> {
  const program = [pythonOf(cell.framework)!, join(import.meta.dirname, "apps", `${cell.framework.app}.py`)];
  return recordProgram(program, cell, folder);
}

/** The same with any program that takes its tasks as those of `apps/` do. */
export async function recordProgram(
  program: readonly string[],
  cell: Pick<Cell, "mode" | "load" | "way">,
  folder?: string,
): Promise<CellResult> {
  const model = await startScriptedModel();
  const recordings = folder ?? (await mkdtemp(join(tmpdir(), "coa-python-cell-")));
  const quiet = { folder: recordings, port: 0, onProblem: () => {} };
  const proxy = cell.way === "proxy" ? await startProxy({ ...quiet, to: `${model.origin}/v1` }) : undefined;
  const collector = cell.way === "OTLP" ? await startCollector(quiet) : undefined;
  try {
    const command =
      cell.way === "record run"
        ? [process.execPath, main, "record", "run", "--set", `record.folder=${recordings}`, "--", ...program]
        : program;
    const { code, said } = await started(command, {
      OPENAI_BASE_URL: proxy?.url ?? `${model.origin}/v1`,
      OPENAI_API_KEY: "sk-none",
      MODE: cell.mode,
      LOAD: cell.load,
      ...(collector && { OTLP: new URL(collector.url).origin }),
    });
    if (code !== 0)
      return { verdict: "failed", why: [said.slice(-1500), ...model.unknown], runs: [], truth: model.served };
    const runs = await readRecordings(recordings);
    const truth = model.served;
    if (collector && runs.length === 0) return { verdict: "no spans", why: [], runs, truth };
    return { ...judge(runs, truth, loads[cell.load]), runs, truth };
  } finally {
    await proxy?.close();
    await collector?.close();
    await model.close();
    if (folder === undefined) await rm(recordings, { recursive: true, force: true });
  }
}

/** Runs a program to its end, at most two minutes. */
async function started(
  command: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number; said: string }> {
  const child = spawn(command[0]!, command.slice(1), {
    env: { ...process.env, ...env, PYTHONDONTWRITEBYTECODE: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 120_000,
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += String(chunk)));
  const code = await new Promise<number>((done) => {
    child.once("error", () => done(1));
    child.once("close", (status) => done(status ?? 1));
  });
  return { code, said };
}
