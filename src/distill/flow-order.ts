/**
 * What a program's flow says about the order of a chain. Steps are read as they happened, but branches that ran at the
 * same time are told one after the other, each whole; who began alone and was not simply handed on made the plan; who
 * read the answer afterwards checked it.
 */
import type { TeamAgent, TeamRun, TeamStep } from "../core/team-run.ts";

/** Branches that began from the same replies and ran at once: the steps of each. */
export interface Fork {
  branches: TeamStep[][];
}

/** The replies that an agent was given when it began, by the agents that made them. */
function readsOf({ handoffFrom, joins = [] }: TeamAgent): string[] {
  return handoffFrom === undefined ? joins : [handoffFrom, ...joins];
}

/** Whether a program wired agents of a run together by passing replies on. */
export function isWired({ agents, steps }: TeamRun): boolean {
  if (steps.some(({ move }) => move !== undefined)) return false;
  const called = new Set(steps.flatMap(({ toolCalls }) => toolCalls.flatMap(({ delegatesTo }) => delegatesTo ?? [])));
  return agents.some((agent) => readsOf(agent).length > 0 && !called.has(agent.id));
}

/** Steps in the order in which a chain tells them: by time, but those of branches that ran at once as forks. */
export function flowOrder(run: TeamRun, steps: readonly TeamStep[] = run.steps): (TeamStep | Fork)[] {
  const stepsOf = Map.groupBy(steps, ({ agentId }) => agentId);
  const agents = run.agents.filter(({ id, parentCallId, side }) => stepsOf.has(id) && !parentCallId && !side);
  const byReads = Map.groupBy(agents, (agent) => readsOf(agent).toSorted().join(" "));
  const forks = new Map<string, Fork>();
  for (const own of byReads.values()) {
    const beside = own.filter((one) => own.some((other) => one !== other && overlap(stepsOf, one, other)));
    // The whole of what is read here is no branch of itself.
    if (beside.length < 2 || beside.length === agents.length) continue;
    const branches = beside.map(({ id }) => branchOf(id, agents));
    const fork = { branches: branches.map((ids) => steps.filter(({ agentId }) => ids.has(agentId))) };
    for (const id of branches.flatMap((ids) => [...ids])) if (!forks.has(id)) forks.set(id, fork);
  }
  const told = new Set<Fork>();
  return steps.flatMap((step): (TeamStep | Fork)[] => {
    const fork = forks.get(step.agentId);
    if (!fork) return [step];
    if (told.has(fork)) return [];
    told.add(fork);
    return [fork];
  });
}

function overlap(stepsOf: ReadonlyMap<string, readonly TeamStep[]>, a: TeamAgent, b: TeamAgent): boolean {
  const span = ({ id }: TeamAgent) => {
    const own = stepsOf.get(id)!;
    return [own[0]!.startedAt ?? 0, own.at(-1)!.endedAt ?? 0] as const;
  };
  const [[fromA, toA], [fromB, toB]] = [span(a), span(b)];
  return fromA < toB && fromB < toA;
}

/** An agent and those that were given nothing but its replies. */
function branchOf(first: string, agents: readonly TeamAgent[]): Set<string> {
  const ids = new Set([first]);
  for (const agent of agents) {
    const reads = readsOf(agent);
    if (reads.length > 0 && reads.every((id) => ids.has(id))) ids.add(agent.id);
  }
  return ids;
}

/** Agents whose instructions ask for a plan or a route. */
const planner =
  /\b(?:plan|planner|planning|router?|routing|orchestrat\w+|triage|dispatch\w*|decompose|sub-?tasks?|break (?:it|\w+ \w+) (?:down|into))\b/i;

/**
 * The step that planned or routed the work: the first, where its instructions ask for that, or some that came after it
 * were not simply given all that it wrote. A first draft that is handed on is no plan.
 */
export function plannedBy(run: TeamRun): string | undefined {
  const roots = run.agents.filter(({ parentCallId, side }) => !parentCallId && !side);
  const [first, ...others] = roots.filter((agent) => readsOf(agent).length === 0);
  const step = run.steps.find(({ agentId, error }) => agentId === first?.id && error === undefined);
  if (!step || others.length > 0 || step.text.trim() === "") return undefined;
  const next = roots.filter((agent) => readsOf(agent).includes(step.agentId));
  const seen = (id: string) => run.steps.find(({ agentId }) => agentId === id)?.input ?? [];
  const gotAll = ({ id }: TeamAgent) => seen(id).some((key) => run.messages[key]?.content.includes(step.text.trim()));
  return planner.test(first?.instructions ?? "") || !next.every(gotAll) ? step.id : undefined;
}

/** Steps that read the answer after it was given: checks of it. */
export function checksOf(run: TeamRun, answeredBy: string | undefined): Set<string> {
  const at = run.steps.findIndex(({ id }) => id === answeredBy);
  const answer = run.steps[at]?.text.trim() ?? "";
  if (answer === "") return new Set();
  const agent = run.steps[at]!.agentId;
  const later = run.steps.slice(at + 1).filter(({ agentId, toolCalls }) => agentId !== agent && toolCalls.length === 0);
  const sides = new Set(run.agents.filter(({ side }) => side !== undefined).map(({ id }) => id));
  const read = ({ input }: TeamStep) => input.some((key) => run.messages[key]?.content.includes(answer));
  return new Set(later.filter((step) => !sides.has(step.agentId) && read(step)).map(({ id }) => id));
}
