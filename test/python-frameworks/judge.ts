/** Whether recorded runs are what a program did: each task one run, with its calls, agents, links and answer. */
import type { TeamRun } from "../../src/core/team-run.ts";
import { refusedForTraining } from "../../src/record/trainable.ts";
import type { TrueCall } from "./scripted-model.ts";

/** Right; refused where nothing wrong may be trained on; false where something wrong may be. */
export type Verdict = "right" | "refused" | "false";

/** Compares runs with what was served. */
export function judge(
  runs: readonly TeamRun[],
  truth: readonly TrueCall[],
  tasks: number,
): { verdict: Verdict; why: string[] } {
  const byTask = Map.groupBy(truth, ({ task }) => task);
  const wrong: string[] = [];
  let isFalse = false;
  for (const run of runs) {
    const refused = refusedForTraining(run);
    if (refused === null) {
      const faults = faultsOf(run, byTask);
      isFalse ||= faults.length > 0;
      wrong.push(...faults);
    } else wrong.push(refused);
  }
  if (runs.length !== tasks) wrong.push(`${runs.length} runs of ${tasks} tasks`);
  return { verdict: isFalse ? "false" : wrong.length > 0 ? "refused" : "right", why: [...new Set(wrong)] };
}

function faultsOf(run: TeamRun, byTask: ReadonlyMap<string, readonly TrueCall[]>): string[] {
  const faults: string[] = [];
  const served = new Set([...byTask.values()].flat().map(({ id }) => id));
  const idOf = ({ responseId = "", text, toolCalls }: TeamRun["steps"][number]) => {
    // Traces have other ids, or none: the marks say which reply it is.
    const mark = /\[n(\d+)\]/.exec(text)?.[1] ?? /^call_(\d+)_/.exec(toolCalls[0]?.id ?? "")?.[1];
    return served.has(responseId) ? responseId : `r${mark}`;
  };
  const task = [...byTask.values()].find((calls) => calls.some(({ id }) => id === idOf(run.steps[0]!))) ?? [];
  const ids = (list: readonly (string | undefined)[]) => list.toSorted().join(" ");
  const own = run.steps.map(idOf);
  const lacks = task.filter(({ id }) => !own.includes(id)).map(({ id }) => id);
  const alien = own.filter((id) => !task.some((call) => call.id === id));
  if (lacks.length + alien.length > 0)
    faults.push(`it lacks the calls ${ids(lacks)} and holds ${ids(alien)} of others`);
  if (!run.question.includes("What is the population of")) faults.push(`question ${run.question}`);
  const last = task.findLast(({ final }) => final);
  const given = /The answer of T\d is \d+\./;
  const wanted = given.exec(`${last?.text} ${JSON.stringify(last?.calls)}`)?.[0];
  const index = Number(/\bT(\d)\b/.exec(run.question)?.[1]);
  const computed = `The answer of T${index} is ${(100000 + 1111 * index) * (index + 2)}.`;
  // A draft that was made better is not the answer.
  const better = /Better, for \w+: /.exec(last?.text ?? "")?.[0] ?? "";
  if (!run.answer?.includes(better + (wanted ?? computed)) || run.answer.includes("Draft: "))
    faults.push(`answer ${run.answer}`);
  if (wanted !== undefined && wanted !== computed) faults.push(`the answer of another task: ${wanted}`);
  const roleOf = new Map(task.map(({ id, role }) => [id, role]));
  const rolesOf = (id: string) =>
    new Set(run.steps.filter(({ agentId }) => agentId === id).map((step) => roleOf.get(idOf(step))));
  const names = new Map<string, Set<string | undefined>>();
  for (const { id, name } of run.agents) {
    const roles = rolesOf(id);
    if (roles.size !== 1) faults.push(`agent ${name} spoke as ${[...roles].join(", ")}`);
    names.set(name, new Set([...(names.get(name) ?? []), ...roles]));
  }
  for (const [name, roles] of names) if (roles.size > 1) faults.push(`${name} is the name of ${[...roles].join(", ")}`);
  const caller = new Map(
    run.steps.flatMap(({ agentId, toolCalls }) => toolCalls.map(({ id }) => [id, agentId] as const)),
  );
  for (const { id, name, parentCallId, handoffFrom, side } of run.agents) {
    if (side !== undefined) continue;
    const roles = [...rolesOf(id)];
    const above = parentCallId === undefined ? handoffFrom : caller.get(parentCallId);
    if (roles[0] === "researcher" && task.some(({ role }) => role === "manager") && above === undefined)
      faults.push(`${name} has no caller`);
    if (above !== undefined && !run.agents.some((agent) => agent.id === above))
      faults.push(`${name} was called by nobody`);
  }
  faults.push(...unread(run, new Map(run.steps.map((step) => [idOf(step), step.agentId]))));
  const results = run.steps.flatMap(({ toolCalls }) => toolCalls.filter(({ name }) => name === "lookup"));
  if (results.some(({ result = "" }) => !/people\. \[s\d/.test(result))) faults.push("a result of lookup is missing");
  return faults;
}

/** Replies that an agent was given when it began, by their marks, though the run does not say that it read them. */
function unread(run: TeamRun, agentOf: ReadonlyMap<string, string>): string[] {
  return run.agents.flatMap(({ id, name, parentCallId, handoffFrom, joins = [], side }) => {
    if (parentCallId !== undefined || side !== undefined) return [];
    const seen = run.steps.find(({ agentId }) => agentId === id)?.input ?? [];
    const texts = seen.flatMap((key) => run.messages[key] ?? []).filter(({ role }) => role === "user");
    const given = texts.flatMap(({ content }) =>
      [...content.matchAll(/\[(n\d+)\]/g)].map((mark) => agentOf.get(mark[1]!.replace("n", "r"))),
    );
    const known = [id, handoffFrom, ...joins];
    return given
      .filter((one) => one !== undefined && !known.includes(one))
      .map((one) => `${name} was given a reply of ${one}`);
  });
}
