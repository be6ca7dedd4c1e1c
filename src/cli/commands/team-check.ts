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

/** Runs the three tasks, one after the other: what each showed, and what the model can't do (nothing: it can play the team). */
export async function checkTeam(options: Pick<TeamOptions, "roles" | "topology" | "signal">, session: Session) {
  const sandbox = session.closeAtEnd(chooseSandbox({ isolation: "run" }));
  const world = createWorld({ seed: 7 });
  const lookUps = worldTasks(world, { count: 2, families: ["hop1", "hop2"] });
  const asked: [Task, Tool[]][] = [
    [rolls, [codeTool({ sandbox })]],
    ...lookUps.map((task): [Task, Tool[]] => [task, memoryLabTools(world).filter(({ name }) => name !== "code")]),
  ];
  const grade = taskGrader();
  const checked = async (task: Task, tools: Tool[]) => {
    const { answer, ending, usage } = await runTeam(task, { ...options, tools, budget: { modelCalls: 40 } });
    const right = (await grade(task, answer)).correct === true;
    const verified = ending.verified === true;
    return { task: task.id, verified, right, toolCalls: usage.toolCalls, answer, tokens: usage.billedTokens };
  };
  const runs: Awaited<ReturnType<typeof checked>>[] = [];
  for (const [task, tools] of asked) runs.push(await checked(task, tools));
  const of = (holds: (run: (typeof runs)[number]) => boolean) => runs.filter(holds).map(({ task }) => task);
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
export function describeCheck({ runs, problems }: Awaited<ReturnType<typeof checkTeam>>): string {
  const lines = runs.map(
    ({ task, right, toolCalls, answer, tokens }) =>
      `${right ? "right" : "wrong"}  ${task}: ${answer ?? "no answer"} (${toolCalls} tool calls, ${tokens} tokens)`,
  );
  const verdict =
    problems.length === 0 ? ["This model can play the team."] : ["Problems:", ...problems.map((one) => `- ${one}`)];
  return [...lines, ...verdict].join("\n");
}
