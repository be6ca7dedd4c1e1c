/**
 * A team run as one sequence of moves. The tree of agents is walked the way a reader would follow it: the manager's
 * step, then what the agents it activated did, then the manager again. What remains are thoughts and moves, each with
 * the step it came from; whether they fit a profile is decided later.
 *
 * Our own team marks its steps (`move`), so nothing is guessed. In foreign recordings the rules are: the first text of
 * the first agent is the plan, text beside a call is the thought behind it, the last text is the answer, everything else
 * that was said is a thought.
 */
import type { TeamAgent, TeamRun, TeamStep, TeamToolCall } from "../core/team-run.ts";
import { readScore } from "../language/judgement.ts";
import { answeringCalls } from "../language/recorded-tools.ts";
import { proposedAnswer } from "../language/team-moves.ts";
import { checksOf, type Fork, flowOrder, isWired, plannedBy } from "./flow-order.ts";
import { toldInRun } from "./told.ts";

export type Move =
  /** Something thought before the next move; `weak` ones count only where there is no other (`keepReports`). */
  | { kind: "thought"; text: string; weak?: "report" | "task"; step: string }
  | { kind: "plan" | "review" | "verify" | "propose"; text: string; step: string }
  /** Agents that a program wired together began to work, and none of them planned it. */
  | { kind: "unplanned"; step: string }
  /** Something that was said of the answer after it was given. */
  | { kind: "agree"; text: string; step: string }
  /** Something that an agent was told in the middle of its work. */
  | { kind: "told"; text: string; step: string }
  | {
      kind: "calls";
      calls: TeamToolCall[];
      step: string;
      /** Steps of calls, by id, where agents that worked side by side made them. */
      stepOf?: Readonly<Record<string, string>>;
    };

/**
 * The moves of a run, in order. Agents that were activated at once come one after the other, or with `parallel` round by
 * round, for profiles that can show calls side by side.
 */
export function readMoves(run: TeamRun, options: { parallel?: boolean } = {}): Move[] {
  const marked = run.steps.some((step) => step.move !== undefined);
  const answers = answeringCalls(run);
  const wired = isWired(run);
  const lastStep = [...answers.values()].includes(run.answer ?? "") ? undefined : lastTextStep(run);
  const planner = wired ? plannedBy(run) : undefined;
  const walk: Walk = {
    run,
    marked,
    parallel: (options.parallel ?? false) && (wired || run.topology !== "handoff"),
    moves: wired && planner === undefined ? [{ kind: "unplanned", step: run.steps[0]!.id }] : [],
    stepsOf: Map.groupBy(run.steps, (step) => step.agentId),
    agents: new Map(run.agents.map((agent) => [agent.id, agent])),
    byCall: new Map(run.agents.flatMap((agent) => (agent.parentCallId ? [[agent.parentCallId, agent] as const] : []))),
    callIds: new Set(run.steps.flatMap((step) => step.toolCalls.map((call) => call.id))),
    done: new Set(),
    planned: wired && planner === undefined,
    sides: new Set(run.agents.filter(({ side }) => side !== undefined).map(({ id }) => id)),
    lastStep,
    checks: wired ? checksOf(run, lastStep) : new Set(),
    answers,
    // Our own team tells its members what to do next, and nothing else.
    told: marked ? new Map() : toldInRun(run),
  };
  // Agents without a parent, in the order of their first step: managers, judges that the rules call, hand-offs.
  if (wired) visitFlow(walk, flowOrder(run));
  else for (const step of run.steps) visitRoot(walk, step);
  // Whatever hangs on a call that was not recorded (an ambiguous link) still happened.
  for (const step of run.steps) if (!walk.done.has(step.id)) visitStep(walk, step);
  return walk.moves;
}

function visitRoot(walk: Walk, step: TeamStep): void {
  if (!walk.done.has(step.id) && isRoot(walk, step)) visitStep(walk, step);
}

/** What a program's flow did: branches that ran at once one after the other, or side by side where the profile can. */
function visitFlow(walk: Walk, order: readonly (TeamStep | Fork)[]): void {
  for (const one of order) {
    if (!("branches" in one)) {
      visitRoot(walk, one);
      continue;
    }
    const branches = one.branches.map((steps) => {
      const inner = { ...walk, moves: [] };
      visitFlow(inner, flowOrder(walk.run, steps));
      walk.planned ||= inner.planned;
      return inner.moves;
    });
    walk.moves.push(...(walk.parallel ? sideBySide(branches) : branches.flat()));
  }
}

interface Walk {
  run: TeamRun;
  marked: boolean;
  parallel: boolean;
  moves: Move[];
  stepsOf: Map<string, TeamStep[]>;
  agents: Map<string, TeamAgent>;
  byCall: Map<string, TeamAgent>;
  callIds: Set<string>;
  done: Set<string>;
  planned: boolean;
  /** Agents that worked beside the task. */
  sides: ReadonlySet<string>;
  /** Steps that read the answer after it was given. */
  checks: ReadonlySet<string>;
  /** Id of the step whose text is the final answer, in unmarked runs. */
  lastStep: string | undefined;
  /** Calls by which an agent answered, with what it said. */
  answers: ReadonlyMap<TeamToolCall, string>;
  told: ReadonlyMap<string, readonly string[]>;
}

function isRoot(walk: Walk, step: TeamStep): boolean {
  const parent = walk.agents.get(step.agentId)?.parentCallId;
  return parent === undefined || !walk.callIds.has(parent);
}

function lastTextStep(run: TeamRun): string | undefined {
  const root = run.agents[0]?.id;
  const handoff = run.topology === "handoff";
  const spoken = run.steps.filter((step) => step.text.trim() !== "" && step.toolCalls.length === 0);
  const given = spoken.findLast((step) => step.text.trim() === run.answer?.trim());
  return (given ?? spoken.findLast((step) => handoff || step.agentId === root))?.id;
}

function visitStep(walk: Walk, step: TeamStep): void {
  walk.done.add(step.id);
  if (walk.sides.has(step.agentId) && walk.run.agents.length > walk.sides.size) return;
  for (const text of walk.told.get(step.id) ?? []) walk.moves.push({ kind: "told", text, step: step.id });
  if (step.error !== undefined) return; // a model call that failed said nothing
  const think = (text: string | undefined, weak?: "report") => {
    if (text?.trim()) walk.moves.push({ kind: "thought", text: text.trim(), step: step.id, ...(weak && { weak }) });
  };
  const move = step.move ?? guessMove(walk, step);
  if ((move === "review" || move === "verify") && step.toolCalls.length === 0 && replacedByRetry(walk, step)) return;
  think(step.reasoning);
  if (step.toolCalls.length > 0) {
    if (isFirstPlan(walk, step)) {
      walk.moves.push({ kind: "plan", text: step.text, step: step.id });
      walk.planned = true;
    } else think(step.text);
    visitCalls(walk, step);
    return;
  }
  if (walk.checks.has(step.id)) return void walk.moves.push({ kind: "agree", text: step.text.trim(), step: step.id });
  switch (move) {
    case "plan":
      walk.moves.push({ kind: "plan", text: step.text, step: step.id });
      walk.planned = true;
      return;
    case "review":
    case "verify":
      walk.moves.push({ kind: move, text: withScore(walk, step, move), step: step.id });
      return;
    case "answer":
      walk.moves.push({ kind: "propose", text: proposedAnswer(step.text) ?? step.text, step: step.id });
      return;
    case "report":
      think(step.text, "report");
      return;
    default:
      // Surveys and notes repeat what is known; a text of an unmarked manager is a thought.
      think(step.text, step.move === "summarise" ? "report" : undefined);
  }
}

/** A verification with its score: the small team's verifier writes none, the rules compare its answer. */
function withScore({ run }: Walk, step: TeamStep, move: "review" | "verify"): string {
  if (move === "review" || readScore(step.text) !== null) return step.text;
  const score = run.scores?.[run.steps.filter((one) => one.move === "verify").indexOf(step)];
  return score == null ? step.text : `${step.text}\nThe score this time is:${score}`;
}

/** A judge asked twice, because its first reply had no form, counts once. */
function replacedByRetry(walk: Walk, step: TeamStep): boolean {
  return walk.stepsOf.get(step.agentId)?.findLast((one) => one.error === undefined) !== step;
}

function guessMove(walk: Walk, step: TeamStep): TeamStep["move"] {
  if (walk.marked) return undefined;
  if (step.id === walk.lastStep) return "answer";
  const agent = walk.agents.get(step.agentId);
  if (agent?.parentCallId !== undefined) return "report";
  return walk.planned ? undefined : "plan";
}

/** The first words of an unmarked manager, also where it acts at once: it has sub-agents, so this is how it begins. */
function isFirstPlan(walk: Walk, step: TeamStep): boolean {
  return (
    !walk.marked &&
    !walk.planned &&
    step.text.trim() !== "" &&
    step.agentId === walk.run.steps[0]?.agentId &&
    walk.run.agents.length > 1
  );
}

function visitCalls(walk: Walk, step: TeamStep): void {
  const leaves: TeamToolCall[] = [];
  const flush = () => {
    if (leaves.length > 0) walk.moves.push({ kind: "calls", calls: leaves.splice(0), step: step.id });
  };
  const branches: Move[][] = []; // [delegation][move]
  for (const call of step.toolCalls) {
    const answer = walk.answers.get(call);
    if (answer !== undefined) {
      flush();
      const report = walk.agents.get(step.agentId)?.parentCallId !== undefined;
      if (report) walk.moves.push({ kind: "thought", text: answer, weak: "report", step: step.id });
      else walk.moves.push({ kind: "propose", text: answer, step: step.id });
      continue;
    }
    const agent = call.delegatesTo === undefined ? walk.byCall.get(call.id) : walk.agents.get(call.delegatesTo);
    if (agent) {
      flush();
      branches.push(branchOf(walk, step, call, agent));
    } else if (!isHandoff(walk, call) && !isFailedDelegation(walk, step, call)) leaves.push(call);
  }
  walk.moves.push(...(walk.parallel && branches.length > 1 ? sideBySide(branches) : branches.flat()));
  flush();
}

/** What an agent did for one delegation. */
function branchOf(walk: Walk, step: TeamStep, call: TeamToolCall, agent: TeamAgent): Move[] {
  const moves: Move[] = [];
  const task = taskOf(call);
  if (task) moves.push({ kind: "thought", text: task, weak: "task", step: step.id });
  const inner = { ...walk, moves };
  for (const one of walk.stepsOf.get(agent.id) ?? []) if (!walk.done.has(one.id)) visitStep(inner, one);
  walk.planned ||= inner.planned;
  return moves;
}

/**
 * Agents that were activated at once, as rounds: what each thought and called first, then what each did next. The calls of
 * a round are made in one go, each remembering its own step, so that a profile can keep them parallel.
 */
function sideBySide(branches: readonly (readonly Move[])[]): Move[] {
  const rounds = branches.map(roundsOf);
  const moves: Move[] = [];
  for (let round = 0; round < Math.max(...rounds.map((list) => list.length)); round++) {
    const now = rounds.flatMap((list) => list[round] ?? []);
    moves.push(...now.filter((move) => move.kind !== "calls"));
    const calls = now.filter((move) => move.kind === "calls");
    if (calls.length === 0) continue;
    const [{ step }] = calls as [Move & { kind: "calls" }];
    const made = calls.flatMap((move) =>
      move.calls.map((call) => ({ ...call, step: move.stepOf?.[call.id] ?? move.step })),
    );
    moves.push({
      kind: "calls",
      step,
      calls: made.map(({ step: _step, ...call }) => call),
      stepOf: Object.fromEntries(made.map((call) => [call.id, call.step])),
    });
  }
  return moves;
}

/** The moves of one agent, cut after each of its calls. */
function roundsOf(moves: readonly Move[]): Move[][] {
  const rounds: Move[][] = [[]];
  for (const move of moves) {
    rounds.at(-1)!.push(move);
    if (move.kind === "calls") rounds.push([]);
  }
  return rounds.filter((round) => round.length > 0);
}

/** Moving control is not a tool call: nothing was looked up, and the next agent's steps follow anyway. */
function isHandoff(walk: Walk, call: TeamToolCall): boolean {
  return (
    /^(?:transfer_(?:to|back_to)_|handoff_)/.test(call.name) &&
    walk.run.agents.some((agent) => agent.handoffFrom !== undefined || walk.run.topology === "handoff")
  );
}

/** A manager of ours can only delegate, so a call of it that activated no agent was refused. */
function isFailedDelegation(walk: Walk, step: TeamStep, call: TeamToolCall): boolean {
  const agent = walk.agents.get(step.agentId);
  return walk.marked && agent?.role === "manager" && call.delegatesTo === undefined && call.error !== undefined;
}

/** What a delegation asks for: the text of its arguments. */
function taskOf(call: TeamToolCall): string | undefined {
  try {
    const input: unknown = JSON.parse(call.arguments);
    if (typeof input === "string") return input;
    const texts = Object.values((input ?? {}) as object).filter((value) => typeof value === "string");
    return texts.length > 0 ? texts.join(" ") : undefined;
  } catch {
    return call.arguments;
  }
}
