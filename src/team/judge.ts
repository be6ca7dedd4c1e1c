/**
 * The two members who judge: one message in, one judgement out, asked for again once where its form is broken. What they
 * write is read leniently in its form and strictly in its meaning.
 */
import type { Message } from "../core/message.ts";
import type { TeamAgent } from "../core/team-run.ts";
import { readRatings, readScore } from "../language/judgement.ts";
import { reflectionCriteria } from "../language/profiles.ts";
import type { TeamMember } from "./agents.ts";
import { reviewReminder, system, verifyReminder } from "./requests.ts";
import { askMember, type WorkSession } from "./work-session.ts";

/** Whether the reflector rated something Poor, so that the plan must change; null where one of its three ratings is missing. */
export function rejectsPlan(text: string): boolean | null {
  const ratings = readRatings(text, reflectionCriteria);
  return ratings.includes(null) ? null : ratings.some((rating) => rating?.toLowerCase() === "poor");
}

/** The verifier's score from 1 to 4, or null where there is none. */
export function verifierScore(text: string): number | null {
  const score = readScore(text);
  return score !== null && score >= 1 && score <= 4 ? score : null;
}

const forms = {
  review: { read: rejectsPlan, reminder: reviewReminder },
  verify: { read: verifierScore, reminder: verifyReminder },
};

/** Asks a judging member; `shared` is the common history in the hand-off topology, null otherwise. */
export async function judge(
  session: WorkSession,
  agent: TeamAgent,
  { instructions, role }: TeamMember,
  request: Message,
  shared: Message[] | null,
  move: keyof typeof forms,
): Promise<string> {
  const conversation = shared ?? [];
  conversation.push(request);
  for (let attempt = 1; ; attempt++) {
    const messages = [system(instructions), ...conversation];
    const { reply, message, step } = await askMember(session, { agent, role, messages, tools: [] });
    step.move = move;
    conversation.push(message);
    agent.report = reply.text;
    if (forms[move].read(reply.text) !== null || attempt === 2) return reply.text;
    conversation.push(forms[move].reminder);
  }
}
