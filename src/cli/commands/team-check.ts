/** `team run --check`: three tasks with known answers, and what the model that plays the team can't do. */
import { defineTask, type Task } from "../../core/task.ts";
import type { Tool } from "../../core/tool.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { createWorld } from "../../lab/create-world.ts";
import { memoryLabTools } from "../../lab/memory-lab-tools.ts";
import { worldTasks } from "../../lab/world-tasks.ts";
import { runTeam, type TeamOptions } from "../../team/run-team.ts";
import { codeTool } from "../../tools/code.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import type { Session } from "../session.ts";

const rolls = defineTask({
  id: "rolls",
  question: "A baker fills 7 trays with 24 rolls each and sells 95 of them. How many rolls are left?",
  answers: ["73"],
  kind: "math",
});

/** What one of the three runs showed. */
interface CheckedRun {
  task: string;
  verified: boolean;
  right: boolean;
  toolCalls: number;
  answer: string | null;
  tokens: number;
}

/** What the check found: the three runs, and sentences on what the model can't do (none: it can play the team). */
export interface TeamCheck {
  runs: CheckedRun[];
  problems: string[];
}

/** Runs the three tasks, one after the other. */
export async function checkTeam(
  options: Pick<TeamOptions, "roles" | "topology" | "signal">,
  session: Session,
): Promise<TeamCheck> {
  const sandbox = session.closeAtEnd(chooseSandbox({ isolation: "run" }));
  const world = createWorld({ seed: 7 });
  const lookUps = worldTasks(world, { count: 2, families: ["hop1", "hop2"] });
  const asked: [Task, Tool[]][] = [
    [rolls, [codeTool({ sandbox })]],
    ...lookUps.map((task): [Task, Tool[]] => [task, memoryLabTools(world).filter(({ name }) => name !== "code")]),
  ];
  const grade = taskGrader();
  const runs: CheckedRun[] = [];
  for (const [task, tools] of asked) {
    const run = await runTeam(task, { ...options, tools, budget: { modelCalls: 40 } });
    const { correct } = await grade(task, run.answer);
    runs.push({
      task: task.id,
      verified: run.ending.verified === true,
      right: correct === true,
      toolCalls: run.usage.toolCalls,
      answer: run.answer,
      tokens: run.usage.billedTokens,
    });
  }
  const of = (holds: (run: CheckedRun) => boolean) => runs.filter(holds).map(({ task }) => task);
  const problems = [
    ["made no tool call", of(({ toolCalls }) => toolCalls === 0)],
    ["gave no answer", of(({ answer }) => answer === null)],
    ["verified a wrong answer", of(({ right, verified }) => verified && !right)],
    ["did not verify a right answer", of(({ right, verified }) => right && !verified)],
    ["answered wrongly", of(({ right, answer }) => !right && answer !== null)],
  ].flatMap(([what, tasks]) => (tasks!.length > 0 ? [`${what}: ${(tasks as string[]).join(", ")}`] : []));
  return { runs, problems };
}

/** The check as lines for a terminal. */
export function describeCheck({ runs, problems }: TeamCheck): string {
  const lines = runs.map(
    ({ task, right, toolCalls, answer, tokens }) =>
      `${right ? "right" : "wrong"}  ${task}: ${answer ?? "no answer"} (${toolCalls} tool calls, ${tokens} tokens)`,
  );
  const verdict =
    problems.length === 0 ? ["This model can play the team."] : ["Problems:", ...problems.map((one) => `- ${one}`)];
  return [...lines, ...verdict].join("\n");
}
