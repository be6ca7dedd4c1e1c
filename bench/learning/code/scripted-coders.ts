/**
 * A scripted team that programs: the code agent writes a program, runs it on the example, reads what comes out and
 * repairs it; the manager hands the program over, and the verifier looks whether the last run gave what the example
 * says. Plain functions of what an LLM agent would be shown. In a share of the tasks the first draft has a common
 * mistake: a wrong loop limit, an empty list, a table that begins with 0.
 */

import { seededRandom } from "../../../src/base/work/random.ts";
import type { ChatRequest } from "../../../src/core/model.ts";
import type { Played, Specialist } from "../../../src/lab/scripted-specialists.ts";
import { planAsked } from "../../../src/lab/scripted-workers.ts";
import { evidenceIn, ownResults, ownTask, questionIn, transcriptEvents } from "../../../src/lab/transcript.ts";
import { shown } from "./code-tasks.ts";
import { programOf } from "./programs.ts";
import { type UnderstoodTask, understandTask } from "./understand-task.ts";

export interface CoderOptions {
  /** Share of tasks in which the first draft is wrong; 0.5 by default. */
  hasty?: number;
  seed?: number;
}

/** The roles of a team that programs, played by scripts. */
export function scriptedCoders(
  options: CoderOptions = {},
): Record<"manager" | "code" | "reflector" | "verifier", Specialist> {
  const { hasty = 0.5, seed = 0 } = options;
  return {
    manager: named("scripted-manager", playManager),
    code: named("scripted-coder", (request) => playCoder(request, hasty, seed)),
    reflector: named("scripted-reflector", () => ({
      text: "information_conflict : Good\ntool_effectiveness : Good\ntrajectory_monitoring : Good",
    })),
    verifier: named("scripted-verifier", playVerifier),
  };
}

function named(name: string, specialist: Specialist): Specialist {
  return Object.defineProperty(specialist.bind(null), "name", { value: name });
}

const fenced = (program: string) => `\`\`\`py\n${program}\n\`\`\``;

function playManager({ messages }: ChatRequest): Played {
  const question = questionIn(messages) ?? "";
  if (planAsked(messages)) return { text: "1. write it\n2. try the example" };
  const report = transcriptEvents(messages).findLast((one) => one.type === "delegation")?.report;
  if (report === undefined) return { toolCalls: [{ name: "code_agent", input: { task: question } }] };
  const found = /^(.+)\n(```py\n[\s\S]*?\n```)$/.exec(report);
  return found ? { reasoning: found[1]!, text: found[2]! } : { text: "unknown" };
}

/** Writes, runs, reads and repairs. */
function playCoder({ messages }: ChatRequest, hasty: number, seed: number): Played {
  const question = ownTask(messages, "code_agent");
  const task = understandTask(question);
  if (!task) return { text: "I can only write small programs." };
  const results = ownResults(messages, "code");
  const random = seededRandom("hasty", seed, question);
  const slip = random.next() < hasty ? random.pick(task.problem.slips) : undefined;
  const last = results.at(-1);
  if (last === undefined) return run(task, slip?.body ?? task.problem.body, { reasoning: "write it" });
  if (last.trim() === task.example.result) {
    const body = slip && results.length === 1 ? slip.body : task.problem.body;
    return { text: `as it should be\n${fenced(programOf(task.problem, body, task.form))}` };
  }
  if (results.length > 2 || !slip) return { text: complaint(last) };
  return run(task, task.problem.body, { reasoning: complaint(last), text: slip.remedy });
}

/** What is wrong with an output, without saying it again: a small model that copies `abcabcabc` does not find the end. */
function complaint(output: string): string {
  const error = /^error: (\w+)/.exec(output.trim())?.[1];
  return error ? `it fails: ${error}` : "it gives something else";
}

/** A call that runs a program on the example. */
function run(task: UnderstoodTask, body: readonly string[], thoughts: Played): Played {
  const program = programOf(task.problem, body, task.form);
  const { value } = task.example;
  const input =
    task.form === "stdin"
      ? { code: program, stdin: shown(value) }
      : { code: `${program}\nprint(f(${JSON.stringify(value).replaceAll('"', "'")}))` };
  return { ...thoughts, toolCalls: [{ name: "code", input }] };
}

/** 4 where the newest run gave what the example says, else 1. */
function playVerifier({ messages }: ChatRequest): Played {
  const task = understandTask(questionIn(messages) ?? "");
  const right =
    evidenceIn(messages)
      .findLast((one) => one.tool === "code")
      ?.output.trim() === task?.example.result;
  return {
    reasoning: right ? "the program is right" : "no run gave it",
    text: `The score this time is:${right ? 4 : 1}`,
  };
}
