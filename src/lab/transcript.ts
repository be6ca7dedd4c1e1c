/**
 * What a member of the team can see, read back from the messages in front of it: who was asked what, what came back, what
 * the tools showed. Works on both topologies: reports come back as results of calls, or as messages in a shared history.
 */
import { asObject, parseJson } from "../core/json-value.ts";
import type { Message } from "../core/message.ts";

/** Something that happened, as the manager sees it. */
export type TranscriptEvent =
  | { type: "delegation"; member: string; task: string; report: string }
  /** The verifier did not accept the last proposal. */
  | { type: "rejection" };

/** The question in front of a member, or null. */
export function questionIn(messages: readonly Message[]): string | null {
  for (const message of messages) {
    if (message.role !== "user") continue;
    const found = /^Question: (.+)$/m.exec(message.content);
    if (found) return found[1]!;
  }
  return null;
}

const transfer = "transfer_to_";

/** The manager's delegations with their reports, and rejections, in order. */
export function transcriptEvents(messages: readonly Message[]): TranscriptEvent[] {
  const found: TranscriptEvent[] = [];
  const open = new Map<string, Extract<TranscriptEvent, { type: "delegation" }>>();
  for (const message of messages) {
    if (message.role === "assistant" && message.name === "manager") {
      for (const call of message.toolCalls ?? []) {
        const member = call.name.replace(transfer, "");
        const task = String(asObject(parseJson(call.arguments))?.["task"] ?? "");
        const delegation = { type: "delegation" as const, member, task, report: "" };
        found.push(delegation);
        open.set(call.id, delegation);
        if (call.name.startsWith(transfer)) open.set(member, delegation);
      }
    } else if (message.role === "assistant" && message.name && (message.toolCalls ?? []).length === 0) {
      const delegation = open.get(message.name);
      if (delegation) delegation.report = message.content;
    } else if (message.role === "tool" && message.toolCallId) {
      const delegation = open.get(message.toolCallId);
      if (delegation && !message.content.endsWith(" takes over.")) delegation.report = message.content;
    } else if (message.role === "user" && message.content.startsWith("The verifier did not accept")) {
      found.push({ type: "rejection" });
    }
  }
  // A call that failed brought nothing, and is made again.
  return found.filter((one) => one.type === "rejection" || !one.report.startsWith("error:"));
}

/** A worker's sub-task: the newest one given to it by name, or the message it was started with. */
export function ownTask(messages: readonly Message[], member: string): string {
  const last = transcriptEvents(messages).findLast((one) => one.type === "delegation" && one.member === member);
  return last?.type === "delegation" ? last.task : (messages.find((one) => one.role === "user")?.content ?? "");
}

/** What the worker's own tool has returned for its present sub-task, newest last. */
export function ownResults(messages: readonly Message[], tool: string): string[] {
  const results: string[] = [];
  for (const message of messages) {
    // A new delegation starts a new sub-task: earlier results belong to earlier ones.
    if (message.role === "assistant" && message.name === "manager") results.length = 0;
    if (message.role === "tool" && message.name === tool) results.push(message.content);
  }
  return results;
}

/** A tool call with its output, as evidence. */
export interface Evidence {
  tool: string;
  input: string;
  output: string;
}

/** Every tool call in the messages: written out in a request, or in a shared history. */
export function evidenceIn(messages: readonly Message[]): Evidence[] {
  const evidence: Evidence[] = [];
  const inputs = new Map<string, string>();
  for (const message of messages) {
    if (message.role === "user") {
      for (const found of message.content.matchAll(
        /^### (\w+) (\{.*\})\n([\s\S]*?)(?=\n### |\nReport: |$(?![\s\S]))/gm,
      )) {
        evidence.push({ tool: found[1]!, input: found[2]!, output: found[3]! });
      }
    }
    for (const call of message.toolCalls ?? []) inputs.set(call.id, call.arguments);
    if (message.role === "tool" && message.name && !message.name.startsWith(transfer)) {
      const input = inputs.get(message.toolCallId ?? "");
      if (input) evidence.push({ tool: message.name, input, output: message.content });
    }
  }
  return evidence;
}

export function newestReport(messages: readonly Message[]): string {
  const listed = messages.findLast((message) => message.role === "user" && message.content.includes("\nReport: "));
  if (listed) return listed.content.split("\nReport: ").at(-1)!.split("\n")[0]!;
  const spoken = messages.findLast(
    (message) => message.role === "assistant" && message.name !== "manager" && !message.toolCalls && message.content,
  );
  return spoken?.content ?? "";
}
