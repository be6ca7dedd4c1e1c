/** The messages by which the rules of the team ask a member for a move, in the texts of `language/team-moves.ts`. */
import type { Message } from "../core/message.ts";
import { questionMessage, teamRequests } from "../language/team-moves.ts";
import type { MemoryEntry } from "./working-memory.ts";
import { describeWork } from "./working-memory.ts";

/** A message from outside the team: the person who asks, or the rules. */
export function user(content: string): Message {
  return { role: "user", content };
}

/** A constant message: one object, so that it is hashed and counted once. */
const constant = ({ text }: { text: string }): Message => Object.freeze(user(text));

const systems = new Map<string, Message>();

export function system(instructions: string): Message {
  let message = systems.get(instructions);
  if (!message) {
    message = Object.freeze<Message>({ role: "system", content: instructions });
    // Bounded: a service that makes up instructions per run must not grow for ever.
    if (systems.size < 1_000) systems.set(instructions, message);
  }
  return message;
}

export function questionRequest(question: string): Message {
  return user(questionMessage(question));
}

export const carryOutPlan = constant(teamRequests.carryOut);
export const answerReminder = constant(teamRequests.answerReminder);
export const emptyReply = constant(teamRequests.emptyReply);
export const reviewReminder = constant(teamRequests.reviewReminder);
export const verifyReminder = constant(teamRequests.verifyReminder);

/** After something went wrong: what it was, and the request for another plan. */
export function replanRequest(reason: string): Message {
  return user(`${reason}\n\n${teamRequests.newPlan.text}`);
}

/** After something went wrong where no other plan is allowed. */
export function continueAnyway(reason: string): Message {
  return user(`${reason} ${teamRequests.continueAnyway.text}`);
}

/** In the hand-off topology: lets the manager continue. */
export function handBack(name: string): Message {
  return user(`${name} ${teamRequests.handBack.text}`);
}

/** In the small team: the question, with the plan where there was a try without it. */
export function questionShown(question: string, plan: string): Message {
  return user(`Question: ${question}${plan && `\n\n${teamRequests.planShown.text}\n${plan}`}`);
}

export const solveAgain = constant(teamRequests.solveAgain);

/** In the small team: gives a worker its turn. */
export function yourTurn(name: string): Message {
  return user(`${name}, ${teamRequests.turn.text}`);
}

/** In the small team: what a worker's calls gave, and what it may do next. */
export function outputs(texts: readonly string[]): Message {
  return user(`Output:\n${texts.join("\n\n")}\n\n${teamRequests.afterOutput.text}`);
}

/** In the small team: asks a worker who neither called nor marked an answer to do one of both. */
export const useTools = (used: boolean): Message => (used ? markAnswer : callTool);
const markAnswer = constant(teamRequests.afterOutput);
const callTool = constant(teamRequests.useTool);

/** Asks the reflector for its judgement; `work` is left out where it can see the history itself. */
export function reviewRequest(
  question: string,
  plan: string,
  work: readonly MemoryEntry[] | null,
  concern: string,
): Message {
  const seen =
    work === null ? "" : `Question: ${question}\n\nPlan:\n${plan}\n\nWork so far:\n${describeWork(work)}\n\n`;
  return user(`${seen}${teamRequests.review.text}${concern ? ` ${concern}` : ""}`);
}

/** Asks the verifier for its score. */
export function verifyRequest(question: string, work: readonly MemoryEntry[] | null, proposal: string): Message {
  const seen = work === null ? "" : `Question: ${question}\n\nEvidence:\n${describeWork(work)}\n\n`;
  return user(`${seen}Proposed answer: ${proposal}\n\n${teamRequests.verify.text}`);
}

/** What a manager is shown in the place of a history that has become too long. */
export function historySummary(question: string, plan: string, done: string): Message {
  return user(`Question: ${question}\n\nThe plan:\n${plan}\n\n${teamRequests.summary.text}${done}`);
}
