/** Children that do one thing per line they are sent, ours and PyTorch's, so that steps can be taken in turn. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** What one step took. */
export interface Stepped {
  wallMs: number;
  cpuMs: number;
  /** Where both sides learn from the same batch. */
  loss?: number;
  peakBytes: number;
}

/** A child that makes one step per line it is sent; `T` is what it can say beside the usual. */
export interface Stepper<T = object> {
  name: string;
  compiled: boolean;
  /** What it said when it was ready. */
  started: T & Stepped;
  /** One step, of the kind that the child understands by `request`. */
  step(request?: object): Promise<T & Stepped>;
  stop(): void;
}

/** What can be compared of a step. */
export type Measure = "wallMs" | "cpuMs" | "peakBytes";

/** The least of some steps: what the machine can do when nothing else wants it. */
export const least = (list: Stepped[], key: Measure) => Math.min(...list.map((entry) => entry[key]));

/** A python with torch (and `others`), and whether that torch compiles. */
export function findTorch(others: readonly string[] = []): { path: string; compiles: boolean } | undefined {
  const imports = ["torch", ...others].join(", ");
  for (const path of [process.env["COA_PYTHON"], "python3", "/usr/bin/python3"]) {
    if (!path) continue;
    const found = spawnSync(path, ["-c", `import ${imports}; print(hasattr(torch, 'compile'))`], { encoding: "utf8" });
    if (found.status === 0) return { path, compiles: found.stdout.trim() === "True" };
  }
  return undefined;
}

/** Starts one; `setting` is handed to it as JSON. */
export async function startStepper<T = object>(
  command: string,
  script: string,
  setting: Record<string, unknown>,
): Promise<Stepper<T>> {
  const args = [join(import.meta.dirname, script), JSON.stringify(setting)];
  const child: ChildProcess = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${command} ${script} ended early`);
    return JSON.parse(value);
  };
  const started = await next();
  return {
    name: started.name,
    compiled: setting["compile"] === true,
    started,
    step(request = {}) {
      child.stdin!.write(`${JSON.stringify(request)}\n`);
      return next();
    },
    stop: () => child.stdin!.end(),
  };
}
