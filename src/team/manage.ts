/**
 * The manager's loop. Each turn the manager writes a plan, delegates, or proposes an answer; the rules of the team decide
 * what it is asked for next. In the hand-off topology the manager's conversation is the shared history itself.
 */
import { errorEnding } from "../core/ending.ts";
import { CoaError, messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { TeamAgent, TeamEnding, TeamStep } from "../core/team-run.ts";
import { proposedAnswer } from "../language/team-moves.ts";
import { delegationTools, memberWithRole } from "./agents.ts";
import { BudgetSpent } from "./budget.ts";
import { compactHistory } from "./compact-history.ts";
import { type Delegated, delegate, readDelegation, startAgent } from "./delegate.ts";
import { judge, rejectsPlan, verifierScore } from "./judge.ts";
import * as requests from "./requests.ts";
import type { TeamOptions } from "./run-team.ts";
import { allSettledOrThrow, askMember, type WorkSession } from "./work-session.ts";

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
  delegations: number;
  delegationsAtPlan: number;
  outcome: Outcome;
}

/** Runs the manager until an answer is accepted or a limit is reached. */
export async function manage(session: WorkSession, options: TeamOptions): Promise<Outcome> {
  const manager = memberWithRole(session.team, "manager");
  const tools = managerTools(session);
  const state: ManagerState = {
    session,
    options,
    agent: startAgent(session, manager, {}, tools),
    conversation: [],
    plan: "",
    planning: true,
    delegations: 0,
    delegationsAtPlan: 0,
    outcome: { answer: null, ending: { reason: "limit" }, replans: 0, scores: [] },
  };
  const first = options.planning?.survey ? "survey" : "plan";
  state.conversation.push(requests.questionRequest(session.task.question, first));
  try {
    if (first === "survey") {
      const { message, step } = await askManager(state, tools);
      step.move = "summarise";
      state.conversation.push(message, requests.planRequest);
    }
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

const toolLists = new WeakMap<object, ReturnType<typeof delegationTools>>();

function managerTools(session: WorkSession): ReturnType<typeof delegationTools> {
  const handoff = session.topology === "handoff";
  if (handoff) return delegationTools(session.team, true);
  let tools = toolLists.get(session.team);
  if (!tools) toolLists.set(session.team, (tools = delegationTools(session.team, false)));
  return tools;
}

function askManager(state: ManagerState, tools: ReturnType<typeof delegationTools>) {
  const { session, agent, conversation, plan } = state;
  const known = { question: session.task.question, plan, work: session.work };
  compactHistory(conversation, known, session.limits.historyCharacters);
  const messages = [requests.system(agent.instructions!), ...conversation];
  return askMember(session, { agent, role: "manager", messages, tools });
}

/** One turn; true when the run is over. */
async function managerTurn(state: ManagerState, tools: ReturnType<typeof delegationTools>): Promise<boolean> {
  const { reply, message, step } = await askManager(state, tools);
  state.conversation.push(message);
  if (reply.toolCalls.length > 0) {
    step.move = "act";
    await carryOut(state, step);
    return false;
  }
  if (reply.text.trim() === "") {
    state.conversation.push(requests.emptyReply);
    return false;
  }
  if (state.planning) {
    step.move = "plan";
    state.plan = reply.text;
    state.planning = false;
    state.delegationsAtPlan = state.delegations;
    state.conversation.push(requests.carryOutPlan);
    return false;
  }
  const proposal = proposedAnswer(reply.text);
  if (proposal === null) {
    state.conversation.push(requests.answerReminder);
    return false;
  }
  step.move = "answer";
  return propose(state, proposal);
}

/** Carries out the delegations of one reply, in parallel where contexts are isolated, and decides what comes next. */
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
    // Every call must be answered before anybody else speaks; then control moves from one to the next.
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
  const carriedOut = given.filter((one) => !("problem" in one) && one.member.role !== "reflector").length;
  state.delegations += carriedOut;
  await decideNext(state, outcomes, carriedOut > 0);
}

/** After delegations: a new plan where something went wrong or one is due, otherwise this plan continues. */
async function decideNext(
  state: ManagerState,
  outcomes: readonly (Delegated | null)[],
  progressed: boolean,
): Promise<void> {
  const { session, options, conversation } = state;
  const { reviewInterval = 0, planning } = options;
  const poor = outcomes.find((outcome) => outcome?.poor);
  const failed = outcomes.find((outcome) => outcome?.failed);
  if (poor) return replan(state, "The reflector rated something Poor.");
  if (failed) return replan(state, `A step failed: ${failed.report}`);
  if (progressed && reviewInterval > 0 && state.delegations % reviewInterval === 0 && (await review(state))) return;
  const interval = planning?.interval ?? 0;
  if (interval > 0 && state.delegations - state.delegationsAtPlan >= interval) {
    state.planning = true;
    conversation.push(requests.refreshPlan);
  } else if (session.topology === "handoff" && progressed) {
    conversation.push(requests.handBack(session.work.at(-1)!.member));
  }
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

/** A review that the rules ask for; true when it led to a new plan. */
async function review(state: ManagerState): Promise<boolean> {
  const { session, conversation, plan } = state;
  const shared = session.topology === "handoff" ? conversation : null;
  const member = memberWithRole(session.team, "reflector");
  const agent = startAgent(session, member, shared ? { handoffFrom: state.agent.id } : {});
  const request = requests.reviewRequest(session.task.question, plan, shared ? null : session.work, "");
  const text = await judge(session, agent, member, request, shared, "review");
  if (rejectsPlan(text)) {
    replan(state, shared ? "The reflector rated something Poor." : `The reflector judged:\n${text}`);
    return true;
  }
  conversation.push(requests.continueRequest(shared ? "" : text));
  return false;
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
