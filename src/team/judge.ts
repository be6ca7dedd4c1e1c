/** The two members who judge: one message in, one judgement out, asked for again once where its form is broken. */
import type { Message } from "../core/message.ts";
import type { TeamAgent, TeamStep } from "../core/team-run.ts";
import type { TeamMember } from "./agents.ts";
import { system } from "./requests.ts";
import { askMember, type WorkSession } from "./work-session.ts";

const noTools: readonly never[] = [];

/** Asks a judging member; `shared` is the common history in the hand-off topology, null otherwise. */
export async function judge(
  session: WorkSession,
  agent: TeamAgent,
  member: TeamMember,
  request: Message,
  shared: Message[] | null,
  form: { move: NonNullable<TeamStep["move"]>; complete(text: string): boolean; reminder: Message },
): Promise<string> {
  const conversation = shared ?? [];
  conversation.push(request);
  for (let attempt = 1; ; attempt++) {
    const messages = [system(member.instructions), ...conversation];
    const { reply, message, step } = await askMember(session, { agent, role: member.role, messages, tools: noTools });
    step.move = form.move;
    conversation.push(message);
    agent.report = reply.text;
    if (form.complete(reply.text) || attempt === 2) return reply.text;
    conversation.push(form.reminder);
  }
}
