/**
 * The small team, for models of one or two billion weights: the rules decide whose turn it is, nobody delegates, and calls
 * are written as text. A planner plans; the workers take their turns until one of them marks an answer; a verifier answers
 * the question itself, without seeing theirs. Where the two differ, the workers try again with the plan before them, until
 * two answers agree: a small model judges what it sees as right, but its mistakes differ from one way to the next.
 */
import { errorEnding } from "../core/ending.ts";
import { CoaError, messageOf } from "../core/errors.ts";
import type { Message, ToolCall } from "../core/message.ts";
import type { TeamAgent } from "../core/team-run.ts";
import { markedAnswer } from "../language/team-moves.ts";
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
  const workers = team.filter(({ role }) => role !== "planner" && role !== "verifier");
  const planner = memberWithRole(team, "planner");
  let speaker = startAgent(session, planner, {});
  const planned = await ask(session, speaker, planner, [requests.questionRequest(task.question, "plan")]);
  planned.step.move = "plan";
  // A plan of a small model loses what the question says, so the first try is made without it.
  const history: Message[] = [requests.user(`Question: ${task.question}`)];
  const answers: string[] = [];
  for (let turn = 0; turn < limits.managerSteps; turn++) {
    const worker = workers[turn % workers.length]!;
    if (turn > 0) history.push(requests.yourTurn(worker.name));
    else if (outcome.replans > 0) history.push(requests.secondTry(worker.name, planned.reply.text));
    speaker = startAgent(session, worker, { handoffFrom: speaker.id });
    const proposal = await workTurn(session, speaker, worker, history);
    if (proposal === null) continue;
    outcome.answer = proposal;
    outcome.ending = { reason: "answered" };
    if (!verify) return;
    if (answers.length === 0) {
      answers.push(proposal);
      speaker = startAgent(session, memberWithRole(team, "verifier"), { handoffFrom: speaker.id });
      const own = await solveAgain(session, speaker, history);
      if (own !== null) answers.push(own);
      outcome.scores.push(own === null ? null : sameAnswer(own, proposal) ? 4 : 1);
      outcome.ending.verified = own !== null && sameAnswer(own, proposal);
    } else {
      outcome.ending.verified = answers.some((other) => sameAnswer(other, proposal));
      answers.push(proposal);
    }
    if (outcome.ending.verified) return;
    if (outcome.replans >= limits.replans) return void (outcome.answer = answers[0]!);
    outcome.replans++;
    turn = -1;
  }
  const detail = `no accepted answer within ${limits.managerSteps} turns`;
  outcome.ending = { reason: outcome.answer === null ? "limit" : "suggested", detail };
}

/** The verifier's own answer, from the question and what was looked up; programs and their results are kept from it. */
async function solveAgain(session: WorkSession, agent: TeamAgent, history: readonly Message[]): Promise<string | null> {
  const verifier = memberWithRole(session.team, "verifier");
  const lookedUp = session.record.steps.some(({ toolCalls }) => toolCalls.some(({ name }) => name !== "code"));
  const seen = lookedUp ? history.slice(0, -1) : history.slice(0, 1);
  const { reply, step } = await ask(session, agent, verifier, [...seen, requests.solveAgain]);
  step.move = "verify";
  agent.report = reply.text;
  return markedAnswer(reply.text);
}

/** Whether two short answers say the same: as numbers, or by their letters and digits. */
function sameAnswer(a: string, b: string): boolean {
  const [x, y] = [a, b].map((text) => Number(text.replace(/[,$€£%\s]/g, "").replace(/[a-z.]+$/i, "")));
  if (!Number.isNaN(x) && !Number.isNaN(y)) return Math.abs(x! - y!) <= 1e-6 * Math.max(1, Math.abs(x!));
  const [left, right] = [a, b].map(
    (text) =>
      text
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu)
        ?.join(" ") ?? "",
  );
  return left === right;
}

function ask(session: WorkSession, agent: TeamAgent, member: TeamMember, history: readonly Message[]) {
  const messages = [requests.system(member.instructions), ...history];
  return askMember(session, { agent, role: member.role, messages, tools: chatTools(member.tools), inText: true });
}

/** One worker's turn: calls, and at last the answer that it marks, or null where it only has something to report. */
async function workTurn(
  session: WorkSession,
  agent: TeamAgent,
  worker: TeamMember,
  history: Message[],
): Promise<string | null> {
  const alone = session.team.length === 3;
  for (let count = 0; count < session.limits.agentSteps; count++) {
    const { reply, message, step } = await ask(session, agent, worker, history);
    if (step.toolCalls.length > 0) {
      step.move = "act";
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
    const used = session.record.steps.some(({ toolCalls }) => toolCalls.length > 0);
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
