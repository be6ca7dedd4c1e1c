/**
 * Delegation: the manager activates a member with a sub-task. With agents as tools the member works alone, in a context
 * of its own, and only its report comes back. With hand-off it works in the one shared history. The member's own loop is
 * the same: call tools until there is something to report.
 */
import { CoaError, messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { ChatTool } from "../core/model.ts";
import type { TeamAgent, TeamToolCall } from "../core/team-run.ts";
import { chatTools, type TeamMember, transferPrefix } from "./agents.ts";
import { BudgetSpent } from "./budget.ts";
import { judge, rejectsPlan } from "./judge.ts";
import { emptyReply, reviewRequest, system, user } from "./requests.ts";
import { callInput } from "./role.ts";
import { allSettledOrThrow, askMember, runToolCall, type WorkSession } from "./work-session.ts";
import type { MemoryEntry } from "./working-memory.ts";

export interface Delegated {
  report: string;
  failed: boolean;
  /** The reflector rated something Poor. */
  poor: boolean;
}

/** The member and the sub-task that a manager's call names, or why it can't be carried out. */
export function readDelegation(
  session: WorkSession,
  call: TeamToolCall,
): { member: TeamMember; task: string } | { problem: string } {
  const name = call.name.startsWith(transferPrefix) ? call.name.slice(transferPrefix.length) : call.name;
  const callable = session.team.filter((member) => member.role !== "manager" && member.role !== "verifier");
  const member = callable.find((candidate) => candidate.name === name);
  if (!member) {
    return { problem: `there is no agent "${call.name}"; you can call ${callable.map((one) => one.name).join(", ")}` };
  }
  const parsed = callInput(call.arguments);
  if ("problem" in parsed) return parsed;
  const { task } = parsed.input;
  if (typeof task !== "string" || task.trim() === "") return { problem: `${name} needs a "task", a text` };
  return { member, task };
}

/** Carries out one delegation. `shared` is the common history in the hand-off topology, null otherwise. */
export async function delegate(
  session: WorkSession,
  manager: TeamAgent,
  call: TeamToolCall,
  given: { member: TeamMember; task: string; plan: string; shared: Message[] | null },
): Promise<Delegated> {
  const { member, task, shared } = given;
  const agent = startAgent(session, member, shared ? { handoffFrom: manager.id } : { parentCallId: call.id });
  call.delegatesTo = agent.id;
  call.startedAt = session.now();
  try {
    if (member.role === "reflector") {
      const request = reviewRequest(session.task.question, given.plan, shared ? null : session.work, task);
      const text = await judge(session, agent, member, request, shared, "review");
      call.result = text;
      return { report: text, failed: false, poor: rejectsPlan(text) ?? false };
    }
    const entry: MemoryEntry = { member: member.name, task, calls: [], report: "", failed: false };
    session.work.push(entry);
    await work(session, agent, member, entry, shared ?? [user(task)]);
    agent.report = entry.report;
    call.result = entry.report;
    return { report: entry.report, failed: entry.failed, poor: false };
  } catch (error) {
    if (error instanceof BudgetSpent || session.signal.aborted) throw error;
    call.error = messageOf(error);
    return { report: `error: ${member.name} failed: ${call.error}`, failed: true, poor: false };
  } finally {
    call.endedAt = session.now();
  }
}

/** Puts a member's activation on record; what it was told and given is written down once, with its first. */
export function startAgent(
  session: WorkSession,
  member: TeamMember,
  link: Pick<TeamAgent, "parentCallId" | "handoffFrom">,
  tools: readonly ChatTool[] = chatTools(member),
): TeamAgent {
  const first = session.record.agents.every((agent) => agent.name !== member.name);
  const agent = session.record.addAgent({
    name: member.name,
    role: member.role,
    ...link,
    ...(first && { instructions: member.instructions, tools: [...tools] }),
  });
  session.emit({ type: "agent-start", agent });
  return agent;
}

/** A member's loop: tools until it reports. Fills in the entry of the working memory. */
async function work(
  session: WorkSession,
  agent: TeamAgent,
  member: TeamMember,
  entry: MemoryEntry,
  conversation: Message[],
): Promise<void> {
  const tools = chatTools(member);
  for (let count = 0; count < session.limits.agentSteps; count++) {
    const messages = [system(member.instructions), ...conversation];
    const { reply, message, step } = await askMember(session, { agent, role: member.role, messages, tools });
    conversation.push(message);
    if (reply.toolCalls.length === 0) {
      step.move = "report";
      if (reply.text.trim() !== "") {
        entry.report = reply.text;
        return;
      }
      conversation.push(emptyReply);
      continue;
    }
    step.move = "act";
    const calls = step.toolCalls.map((call) => runToolCall(session, agent, member.tools, call));
    const outputs = await allSettledOrThrow(calls);
    step.toolCalls.forEach((call, index) => {
      conversation.push({ role: "tool", content: outputs[index]!, toolCallId: call.id, name: call.name });
      entry.calls.push({ tool: call.name, input: call.arguments, output: outputs[index]! });
    });
  }
  entry.failed = true;
  entry.report = `error: ${member.name} gave no report within ${session.limits.agentSteps} steps`;
  throw new CoaError("model", entry.report);
}
