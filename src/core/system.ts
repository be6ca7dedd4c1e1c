/**
 * A system is anything that answers a task: a team of agents, a chain, a bare model, a script. Evaluation sees
 * only this, so that all are compared by one function and none is favoured.
 */
import type { Task } from "./task.ts";
import type { TeamRun } from "./team-run.ts";
import type { Ending, Trajectory } from "./trajectory.ts";
import type { Usage } from "./usage.ts";

/** The longest sequence of work in which each part waited for the one before it. */
export interface CriticalPath {
  rounds: number;
  /** Milliseconds of model and slowest tool on the path; 0 where a recording has no times. */
  ms: number;
}

/** What a system did for one task. */
export interface SystemResult {
  answer: string | null;
  ending: Ending;
  usage: Usage;
  /** Turns that had to wait for each other, and the time along them; absent where nothing is known of how it went. @internal */
  path?: CriticalPath;
  toolCalls: Record<string, number>;
  /** Billed tokens of each agent role, or of each tag of a chain. */
  tokensByRole: Record<string, number>;
  /** Times that the model broke the form of its language: a call that can't be read, a tag out of order. */
  formatErrors?: number;
  /** The score that the system's own check gave the answer, where it checks; higher is surer. */
  check?: number;
  /** Calls that a recording answered, and those it lacked; absent where the tools were live. */
  replayed?: { calls: number; missing: number };
  /** Where the answer was chosen among several: which one, why, and all of them. */
  chosen?: { index: number | null; reason: string; candidates: readonly SystemResult[] };
  /** Everything it did, kept beside the results. */
  run?: { kind: "trajectory"; value: Trajectory } | { kind: "team-run"; value: TeamRun };
}

export interface System {
  readonly name: string;
  /** How its agents share context, where it has several: a saving is only quoted against a named topology. */
  readonly topology?: string;
  /** What it is in full, as plain data: model, profile, tools, sampling. A figure is never shown for another identity. */
  readonly identity?: Readonly<Record<string, unknown>>;
  run(
    task: Task,
    options: {
      /** Which of several samples of the same task this is. */
      sample: number;
      /** The same for the same evaluation seed, task and sample. */
      seed: number;
      signal?: AbortSignal;
    },
  ): Promise<SystemResult>;
}
