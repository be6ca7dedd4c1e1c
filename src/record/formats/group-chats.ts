/**
 * Logs of group chats, in which messages carry the names of their speakers (AutoGen, AG2, Magentic-One): all read one
 * history, code is run by a program that speaks under a name too, and the first message is the task.
 */
import { asObject, asString } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import type { TeamAgent } from "../../core/team-run.ts";
import type { CallParts } from "../assemble-run.ts";
import { codeMove, readTextMove } from "./text-protocols.ts";

/** Programs that speak in a chat: what they say was written by no model. */
const program = /^(?:chat_?manager|computer_?terminal|human|user(?:_?proxy(?:_?agent)?)?|\w*executor_?proxy)$/i;
const known = new Set(["system", "developer", "user", "assistant", "tool", "function", "human", "gpt"]);

/** Who says a message: its name, or a role that is one ("Orchestrator (-> WebSurfer)"). */
function speakerOf(item: unknown): string | undefined {
  const { role, name } = asObject(item) ?? {};
  if (role === "tool" || role === "function" || role === "system") return undefined;
  return asString(name) || (known.has(String(role)) ? undefined : asString(role)?.replace(/\s*\(.*\)$/, ""));
}

/** Whether a list of messages has several named speakers. */
export function isGroupChat(items: readonly unknown[]): boolean {
  return new Set(items.flatMap((item) => speakerOf(item) ?? [])).size > 1;
}

/** The agents of a chat and what each of them said, its code as calls with what came back. */
export function groupChatCalls(items: readonly unknown[]): { agents: TeamAgent[]; calls: CallParts[] } {
  const said = items.map((item) => ({
    name: speakerOf(item) ?? asString(asObject(item)?.["role"]) ?? "user",
    text: asString(asObject(item)?.["content"]) ?? "",
  }));
  // Of two, the one that asks is the user's proxy: it runs code and says when to go on.
  const [first = "", ...others] = new Set(said.map(({ name }) => name));
  const proxy = others.length === 1 && !program.test(others[0]!) ? first : undefined;
  const agents: TeamAgent[] = proxy === undefined ? [] : [{ id: "agent-1", name: proxy }];
  const calls: CallParts[] = [];
  const seen: { name: string; message: Message }[] = [];
  for (let at = 0; at < said.length; at++) {
    const { name, text } = said[at]!;
    const asked = at === 0;
    if (asked || name === proxy || program.test(name)) {
      seen.push({ name, message: { role: "user", content: text, ...(!asked && { name }) } });
      continue;
    }
    const next = said[at + 1];
    const bare = next !== undefined && next.name === proxy ? codeMove(text) : undefined;
    const move = readTextMove(text, next?.text) ?? (bare && { ...bare, results: [next!.text] });
    let agent = agents.find((one) => one.name === name);
    if (!agent) {
      const from = calls.at(-1)?.agentId ?? agents[0]?.id;
      agent = { id: `agent-${agents.length + 1}`, name, ...(from !== undefined && { handoffFrom: from }) };
      agents.push(agent);
    }
    const id = `text-${at + 1}`;
    const tool = move?.calls && { ...move.calls[0]!, id };
    const failed = tool && /^\s*exitcode: [1-9]/.test(next!.text) ? { error: move.results.join("\n") } : {};
    calls.push({
      agentId: agent.id,
      // What an agent said itself is its own turn; the task stays the user's.
      messages: seen.map(({ name: by, message }) =>
        by === name && message.name !== undefined ? { ...message, role: "assistant" as const } : message,
      ),
      tools: [],
      text: tool ? move.said : text,
      toolCalls: tool ? [{ ...tool, result: move.results.join("\n"), ...failed }] : [],
      promptTokens: 0,
      completionTokens: 0,
      startedAt: at,
      endedAt: at,
    });
    seen.push({ name, message: { role: "user", content: text, name } });
    if (!tool) continue;
    seen.push({ name: next!.name, message: { role: "user", content: next!.text, name: next!.name } });
    at++;
  }
  return { agents, calls };
}

/** The answer that a last message marks: `\boxed{…}`, `SOLUTION_FOUND: …`, `FINAL ANSWER: …`. */
export function markedAnswer(text: string): string | undefined {
  const boxed = [...text.matchAll(/\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}/g)].at(-1)?.[1];
  return (boxed ?? /(?:SOLUTION_FOUND|FINAL ANSWER):?[ \t]*([^\n*]+)/.exec(text)?.[1])?.trim();
}
