/**
 * The manager's loop. Each turn the manager writes a plan, delegates, or proposes an answer; the rules of the team decide
 * what it is asked for next. In the hand-off topology the manager's conversation is the shared history itself.
 */
import { errorEnding } from "../core/ending.ts";
import { CoaError, messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { ChatTool } from "../core/model.ts";
import type { TeamAgent, TeamEnding, TeamStep } from "../core/team-run.ts";
import { proposedAnswer } from "../language/team-moves.ts";
import { delegationTools, memberWithRole } from "./agents.ts";
import { BudgetSpent } from "./budget.ts";
import { type Delegated, delegate, readDelegation, startAgent } from "./delegate.ts";
import { judge, verifierScore } from "./judge.ts";
import * as requests from "./requests.ts";
import type { TeamOptions } from "./run-team.ts";
import { allSettledOrThrow, askMember, type WorkSession } from "./work-session.ts";
import { describeWork } from "./working-memory.ts";

export interface Outcome {
  answer: string | null;
  /**
   * `answered`: the verifier accepted it, or there was none, or re-planning was used up. `suggested`: a limit or the budget
   * ended it, and the last proposal is the answer. `limit`: the same without a proposal. `error`: the manager's model failed.
   */
  ending: TeamEnding;
  replans: number;
  scores: (number | null)[];
}

interface ManagerState {
  session: WorkSession;
  options: TeamOptions;
  agent: TeamAgent;
  conversation: Message[];
  plan: string;
  planning: boolean;
  outcome: Outcome;
}

/** Runs the manager until an answer is accepted or a limit is reached. */
export async function manage(session: WorkSession, options: TeamOptions): Promise<Outcome> {
  const manager = memberWithRole(session.team, "manager");
  const tools = delegationTools(session.team, session.topology === "handoff");
  const state: ManagerState = {
    session,
    options,
    agent: startAgent(session, manager, {}, tools),
    conversation: [requests.questionRequest(session.task.question)],
    plan: "",
    planning: true,
    outcome: { answer: null, ending: { reason: "limit" }, replans: 0, scores: [] },
  };
  try {
    for (let turn = 0; turn < session.limits.managerSteps; turn++) {
      if (await managerTurn(state, tools)) return state.outcome;
    }
    endEarly(state.outcome, `the manager gave no accepted answer within ${session.limits.managerSteps} steps`);
  } catch (error) {
    if (!(error instanceof CoaError)) throw error;
    if (error instanceof BudgetSpent) endEarly(state.outcome, messageOf(error));
    else state.outcome.ending = errorEnding(error);
  }
  return state.outcome;
}

function endEarly(outcome: Outcome, detail: string): void {
  outcome.ending = { reason: outcome.answer === null ? "limit" : "suggested", detail };
}

/** One turn; true when the run is over. */
async function managerTurn(state: ManagerState, tools: readonly ChatTool[]): Promise<boolean> {
  const { session, agent, conversation } = state;
  compactHistory(state);
  const messages = [requests.system(agent.instructions!), ...conversation];
  const { reply, message, step } = await askMember(session, { agent, role: "manager", messages, tools });
  conversation.push(message);
  if (reply.toolCalls.length > 0) {
    step.move = "act";
    await carryOut(state, step);
    return false;
  }
  if (reply.text.trim() === "") {
    conversation.push(requests.emptyReply);
    return false;
  }
  if (state.planning) {
    step.move = "plan";
    state.plan = reply.text;
    state.planning = false;
    conversation.push(requests.carryOutPlan);
    return false;
  }
  const proposal = proposedAnswer(reply.text);
  if (proposal === null) {
    conversation.push(requests.answerReminder);
    return false;
  }
  step.move = "answer";
  return propose(state, proposal);
}

/** Carries out the delegations of one reply, in parallel where contexts are isolated, and asks for a new plan where something went wrong. */
async function carryOut(state: ManagerState, step: TeamStep): Promise<void> {
  const { session, agent, conversation } = state;
  const shared = session.topology === "handoff" ? conversation : null;
  const given = step.toolCalls.map((call) => readDelegation(session, call));
  const answerCall = (index: number, content: string) => {
    const call = step.toolCalls[index]!;
    conversation.push({ role: "tool", content, toolCallId: call.id, name: call.name });
  };
  const run = async (index: number): Promise<Delegated | null> => {
    const one = given[index]!;
    const call = step.toolCalls[index]!;
    if ("problem" in one) {
      call.error = one.problem;
      return null;
    }
    return delegate(session, agent, call, { ...one, plan: state.plan, shared });
  };
  const outcomes: (Delegated | null)[] = []; // [call]
  if (shared) {
    // Every call must be answered before another agent speaks; then control moves from one to the next.
    given.forEach((one, index) => {
      answerCall(index, "problem" in one ? `error: ${one.problem}` : `${one.member.name} takes over.`);
    });
    for (let index = 0; index < given.length; index++) outcomes.push(await run(index));
  } else {
    outcomes.push(...(await allSettledOrThrow(given.map((_, index) => run(index)))));
    given.forEach((one, index) => {
      answerCall(index, outcomes[index]?.report ?? `error: ${"problem" in one ? one.problem : ""}`);
    });
  }
  const failed = outcomes.find((outcome) => outcome?.failed);
  if (outcomes.some((outcome) => outcome?.poor)) replan(state, "The reflector rated something Poor.");
  else if (failed) replan(state, `A step failed: ${failed.report}`);
  else if (shared && given.some((one) => !("problem" in one) && one.member.role !== "reflector"))
    conversation.push(requests.handBack(session.work.at(-1)!.member));
}

/** Asks for another plan, while there are any left. */
function replan(state: ManagerState, reason: string): void {
  if (state.outcome.replans >= state.session.limits.replans) {
    state.conversation.push(requests.continueAnyway(reason));
    return;
  }
  state.outcome.replans++;
  state.planning = true;
  state.conversation.push(requests.replanRequest(reason));
}

/** A proposed answer: accepted, or the reason for a new plan. */
async function propose(state: ManagerState, proposal: string): Promise<boolean> {
  const { session, conversation, outcome } = state;
  outcome.answer = proposal;
  if (state.options.verify === false) {
    outcome.ending = { reason: "answered" };
    return true;
  }
  const shared = session.topology === "handoff" ? conversation : null;
  const member = memberWithRole(session.team, "verifier");
  const agent = startAgent(session, member, shared ? { handoffFrom: state.agent.id } : {});
  const request = requests.verifyRequest(session.task.question, shared ? null : session.work, proposal);
  const text = await judge(session, agent, member, request, shared, "verify");
  const score = verifierScore(text);
  outcome.scores.push(score);
  if (score !== null && score >= 3) {
    outcome.ending = { reason: "answered", verified: true };
    return true;
  }
  if (outcome.replans >= session.limits.replans) {
    outcome.ending = { reason: "answered", verified: false };
    return true;
  }
  replan(
    state,
    shared ? "The verifier did not accept the answer." : `The verifier did not accept "${proposal}":\n${text}`,
  );
  return false;
}

/**
 * A long run outgrows any context: once the history is over its limit, what comes before the newest exchange (a reply and its
 * results) is replaced by a summary of the question, the plan and every step with its report.
 */
function compactHistory({ session, conversation, plan }: ManagerState): void {
  const { work, limits, task } = session;
  const characters = conversation
    .flatMap(({ content, toolCalls = [] }) => [content, ...toolCalls.map((call) => call.arguments)])
    .reduce((sum, text) => sum + text.length, 0);
  const tail = conversation.findLastIndex(({ role }) => role !== "tool");
  if (characters <= limits.historyCharacters || tail <= 1) return;
  // Half of the limit for all steps together, so that there is room for more.
  const each = Math.max(100, Math.floor(limits.historyCharacters / 4 / Math.max(1, work.length)));
  conversation.splice(0, tail, requests.historySummary(task.question, plan, describeWork(work, each)));
}
