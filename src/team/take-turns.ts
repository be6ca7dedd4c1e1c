/**
 * The small team: one history, and the rules decide whose turn it is. A planner plans, the workers take their turns until
 * one of them marks an answer, a verifier judges it; a judgement against it gives the workers another round. Members
 * neither delegate nor need a server that knows tools: calls are written as text. Models of one or two billion weights
 * can play it.
 */
import { errorEnding } from "../core/ending.ts";
import { CoaError, messageOf } from "../core/errors.ts";
import type { Message, ToolCall } from "../core/message.ts";
import type { TeamAgent } from "../core/team-run.ts";
import { markedAnswer } from "../language/team-moves.ts";
import { chatTools, memberWithRole, type TeamMember } from "./agents.ts";
import { BudgetSpent } from "./budget.ts";
import { startAgent } from "./delegate.ts";
import { judge, verifierScore } from "./judge.ts";
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
  let speaker = startAgent(session, memberWithRole(team, "planner"), {});
  const planned = await ask(session, speaker, memberWithRole(team, "planner"), [
    requests.questionRequest(task.question, "plan"),
  ]);
  planned.step.move = "plan";
  const history: Message[] = [requests.planShown(task.question, planned.reply.text)];
  for (let turn = 0; turn < limits.managerSteps; turn++) {
    const worker = workers[turn % workers.length]!;
    if (speaker.role !== "planner") history.push(requests.yourTurn(worker.name));
    speaker = startAgent(session, worker, { handoffFrom: speaker.id });
    const proposal = await workTurn(session, speaker, worker, history);
    if (proposal === null) continue;
    outcome.answer = proposal;
    outcome.ending = { reason: "answered" };
    if (!verify) return;
    const verifier = memberWithRole(team, "verifier");
    speaker = startAgent(session, verifier, { handoffFrom: speaker.id });
    const request = requests.verifyRequest(task.question, null, proposal);
    const score = verifierScore(await judge(session, speaker, verifier, request, history, "verify"));
    outcome.scores.push(score);
    outcome.ending.verified = score !== null && score >= 3;
    if (outcome.ending.verified || outcome.replans >= limits.replans) return;
    outcome.replans++;
    turn = -1;
  }
  const detail = `no accepted answer within ${limits.managerSteps} turns`;
  outcome.ending = { reason: outcome.answer === null ? "limit" : "suggested", detail };
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
      history.push({ ...message, content: [reply.text, ...step.toolCalls.map(callText)].join("\n\n").trim() });
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
