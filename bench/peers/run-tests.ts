/** Runs tests of ours by name against a peer, each in a process of its own, and says how they ended. */
import { run } from "node:test";

/** How the tests of a peer ended. */
export interface Outcome {
  passed: number;
  failed: string[];
  skipped: string[];
  /** What the tests measured. */
  notes: string[];
}

/** Runs the tests of a file whose names match, with these variables in the environment. */
export async function runTests(file: string, names: RegExp, env: Record<string, string>): Promise<Outcome> {
  const outcome: Outcome = { passed: 0, failed: [], skipped: [], notes: [] };
  const before = { ...process.env };
  Object.assign(process.env, { HF_HUB_OFFLINE: "1", OMP_NUM_THREADS: "1", ...env });
  try {
    const events = run({ files: [file], testNamePatterns: [names], isolation: "process" });
    for await (const { type, data } of events) {
      if (type === "test:diagnostic" && data.nesting > 0) outcome.notes.push(data.message);
      if (type === "test:diagnostic" && data.nesting === 0 && !/^(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) /.test(data.message)) outcome.notes.push(data.message); // biome-ignore format: one line
      if ((type !== "test:pass" && type !== "test:fail") || data.details.type === "suite") continue;
      if (data.skip !== undefined && data.skip !== false) outcome.skipped.push(`${data.name}: ${String(data.skip)}`);
      else if (type === "test:pass") outcome.passed++;
      else outcome.failed.push(`${data.name}: ${String((data.details.error as Error).cause ?? data.details.error)}`);
    }
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before);
  }
  return { ...outcome, notes: [...new Set(outcome.notes)] };
}
