/**
 * The small team, for models of one or two billion weights: the rules decide whose turn it is, no agent delegates, and calls
 * are written as text. A planner plans; the workers take their turns until one of them marks an answer; a verifier answers
 * the question itself, without seeing theirs. Where the two differ, the workers begin anew with the plan before them, and
 * two answers that agree win: a small model finds right what it is shown, but errs differently each way.
 */
import { errorEnding } from "../core/ending.ts";
import { CoaError, messageOf } from "../core/errors.ts";
import type { Message, ToolCall } from "../core/message.ts";
import type { TeamAgent } from "../core/team-run.ts";
import { markedAnswer, sameAnswer, solvedAnswer } from "../language/team-moves.ts";
import { chatTools, memberWithRole, type TeamMember } from "./agents.ts";
import { BudgetSpent } from "./budget.ts";
import { startAgent } from "./delegate.ts";
import type { Outcome } from "./manage.ts";
import * as requests from "./requests.ts";
import { callInput } from "./role.ts";
import { allSettledOrThrow, askMember, runToolCall, type WorkSession } from "./work-session.ts";

/** Lets the members take their turns until an answer is accepted or a limit is reached. */
export async function takeTurns(session: WorkSession, options: { verify?: boolean }): Promise<Outcome> {
  const outcome: Outcome = { answer: null, ending: { reason: "limit" }, replans: 0, scores: [] };
  try {
    await playTurns(session, outcome, options.verify ?? true);
  } catch (error) {
    if (!(error instanceof CoaError)) throw error;
    if (!(error instanceof BudgetSpent)) outcome.ending = errorEnding(error);
    else outcome.ending = { reason: outcome.answer === null ? "limit" : "suggested", detail: messageOf(error) };
  }
  return outcome;
}

async function playTurns(session: WorkSession, outcome: Outcome, verify: boolean): Promise<void> {
  const { team, task, limits } = session;
  const planner = memberWithRole(team, "planner");
  let speaker = startAgent(session, planner, {});
  const planned = await ask(session, speaker, planner, [requests.questionRequest(task.question)]);
  planned.step.move = "plan";
  const answers: string[] = [];
  for (let round = 0; round <= limits.replans; round++) {
    outcome.replans = round;
    // A plan of a small model loses what the question says, so the first try is made without it.
    const history = [requests.questionShown(task.question, round === 0 ? "" : planned.reply.text)];
    const done = await workRound(session, speaker, history);
    speaker = done.speaker;
    if (done.answer === null) continue;
    outcome.answer ??= done.answer;
    outcome.ending = { reason: "answered" };
    if (!verify) return;
    if (answers.length === 0) {
      speaker = startAgent(session, memberWithRole(team, "verifier"), { handoffFrom: speaker.id });
      answers.push(await solveAgain(session, speaker, history));
      outcome.scores.push(sameAnswer(answers[0]!, done.answer) ? 4 : 1);
    }
    outcome.ending.verified = answers.some((other) => sameAnswer(other, done.answer!));
    if (outcome.ending.verified) return void (outcome.answer = done.answer);
    answers.push(done.answer);
  }
  if (outcome.answer === null) outcome.ending = { reason: "limit", detail: "no worker gave an answer" };
}

/** The workers take their turns over one history until one of them marks an answer. */
async function workRound(session: WorkSession, before: TeamAgent, history: Message[]) {
  const workers = session.team.filter(({ role }) => role !== "planner" && role !== "verifier");
  let speaker = before;
  for (let turn = 0; turn < session.limits.managerSteps; turn++) {
    const worker = workers[turn % workers.length]!;
    if (turn > 0) history.push(requests.yourTurn(worker.name));
    speaker = startAgent(session, worker, { handoffFrom: speaker.id });
    const answer = await workTurn(session, speaker, worker, history);
    if (answer !== null) return { answer, speaker };
  }
  return { answer: null, speaker };
}

/** The verifier's own answer, from the question and what was looked up; programs and their results are kept from it. */
async function solveAgain(session: WorkSession, agent: TeamAgent, history: readonly Message[]): Promise<string> {
  const verifier = memberWithRole(session.team, "verifier");
  const lookedUp = session.record.steps.some(({ toolCalls }) => toolCalls.some(({ name }) => name !== "code"));
  const seen = lookedUp ? history.slice(0, -1) : history.slice(0, 1);
  const { reply, step } = await ask(session, agent, verifier, [...seen, requests.solveAgain]);
  step.move = "verify";
  agent.report = reply.text;
  return solvedAnswer(reply.text);
}

function ask(session: WorkSession, agent: TeamAgent, member: TeamMember, history: readonly Message[]) {
  const messages = [requests.system(member.instructions), ...history];
  return askMember(session, { agent, role: member.role, messages, tools: chatTools(member), inText: true });
}

/** One worker's turn: calls, and at last the answer that it marks, or null where it only has something to report. */
async function workTurn(
  session: WorkSession,
  agent: TeamAgent,
  worker: TeamMember,
  history: Message[],
): Promise<string | null> {
  const alone = session.team.length === 3;
  let used = history.length > 1;
  for (let count = 0; count < session.limits.agentSteps; count++) {
    const { reply, message, step } = await ask(session, agent, worker, history);
    if (step.toolCalls.length > 0) {
      step.move = "act";
      used = true;
      const outputs = await allSettledOrThrow(
        step.toolCalls.map((call) => runToolCall(session, agent, worker.tools, call)),
      );
      // What stood after the call was written before its result was known.
      history.push({
        role: "assistant",
        name: agent.name,
        content: [reply.text, ...step.toolCalls.map(callText)].join("\n\n").trim(),
      });
      history.push(requests.outputs(outputs));
      continue;
    }
    history.push(message);
    step.move = "report";
    agent.report = reply.text;
    const answer = used || count > 0 ? markedAnswer(reply.text) : null;
    if (answer !== null) step.move = "answer";
    if (answer !== null || (used && !alone)) return answer;
    history.push(requests.useTools(used));
  }
  return null;
}

/** A call as its member was told to write it. */
function callText(call: ToolCall): string {
  const parsed = callInput(call.arguments);
  const code = "input" in parsed ? parsed.input["code"] : undefined;
  return typeof code === "string" ? `\`\`\`python\n${code}\n\`\`\`` : `${call.name}(${call.arguments})`;
}
