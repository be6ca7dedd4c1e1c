/** The messages by which the rules of the team ask a member for a move. Short, constant where they can be. */
import type { Message } from "../core/message.ts";
import type { MemoryEntry, PastStep } from "./working-memory.ts";
import { describeWork } from "./working-memory.ts";

/** A message from outside the team: the person who asks, or the rules. */
export function user(content: string): Message {
  return { role: "user", content };
}

/** A constant message: one object, so that it is hashed and counted once. */
const constant = (content: string): Message => Object.freeze(user(content));

const systems = new Map<string, Message>();

/** A member's instructions as a message. */
export function system(instructions: string): Message {
  let message = systems.get(instructions);
  if (!message) {
    message = Object.freeze<Message>({ role: "system", content: instructions });
    // Bounded: a service that makes up instructions per run must not grow for ever.
    if (systems.size < 1_000) systems.set(instructions, message);
  }
  return message;
}

/** The question, with what earlier runs learnt about similar ones. */
export function questionRequest(question: string, past: readonly PastStep[]): string {
  const similar = past.map((step) => `- ${step.task} -> ${step.report}`).join("\n");
  return `Question: ${question}${similar ? `\n\nSimilar steps of earlier work:\n${similar}` : ""}`;
}

export const surveyRequest =
  "Before the plan, survey the facts. List what the question gives, what must be looked up, and what must be derived or computed. Do not plan yet.";

export const planRequest = "Write the plan: a short numbered list of sub-tasks, and nothing after it.";

export const carryOutPlan = constant("Carry out the plan: delegate the next sub-task, or reply with the answer alone.");

export const refreshPlan = constant(
  "Bring the plan up to date: keep what is done, and list what remains to be done. Write the numbered list and nothing after it.",
);

export const emptyReply = constant(
  "Your reply was empty. Call one of the tools you have, or reply with text as your instructions say.",
);

/** After something went wrong: what it was, and the request for another plan. */
export function replanRequest(reason: string): Message {
  return user(
    `${reason}\n\nWrite a new plan that avoids this: a short numbered list of sub-tasks, and nothing after it.`,
  );
}

/** In the hand-off topology: lets the manager continue. */
export function handBack(name: string): Message {
  return user(`${name} has reported. Manager, continue: delegate the next sub-task, or reply with the answer alone.`);
}

/** Asks the reflector for its judgement; `work` is left out where it can see the history itself. */
export function reviewRequest(
  question: string,
  plan: string,
  work: readonly MemoryEntry[] | null,
  concern: string,
): Message {
  const seen =
    work === null ? "" : `Question: ${question}\n\nPlan:\n${plan}\n\nWork so far:\n${describeWork(work)}\n\n`;
  return user(`${seen}Reflector, judge the work so far.${concern ? ` ${concern}` : ""}`);
}

export const reviewReminder = constant(
  "The three ratings are missing. Write exactly three lines: information_conflict, tool_effectiveness and trajectory_monitoring, each followed by a colon and Good, Average, Fair or Poor.",
);

/** Asks the verifier for its score. */
export function verifyRequest(question: string, work: readonly MemoryEntry[] | null, proposal: string): Message {
  const seen = work === null ? "" : `Question: ${question}\n\nEvidence:\n${describeWork(work)}\n\n`;
  return user(`${seen}Proposed answer: ${proposal}\n\nVerifier, check it and give your score.`);
}

export const verifyReminder = constant(
  'The score is missing. Write one line "The score this time is:" and a whole number from 1 to 4.',
);
