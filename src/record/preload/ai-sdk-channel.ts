/**
 * Follows the AI SDK through its diagnostics channel, without a line of code in the app: each text generation is an
 * agent, each tool execution is where an agent below may start, and the async context carries both to the fetch.
 */
import { randomUUID } from "node:crypto";
import { tracingChannel } from "node:diagnostics_channel";
import { asObject, asString } from "../../core/json-value.ts";
import { type RunContext, runContext } from "./run-context.ts";

/** Starts listening; `newRun` names a run where none is under way. */
export function followAiSdk(newRun: () => string = randomUUID): void {
  const channel = tracingChannel("ai:telemetry");
  channel.start.bindStore(
    runContext,
    (message: unknown) => contextOf(message, runContext.getStore(), newRun) as RunContext,
  );
  // The SDK skips the channel unless somebody listens.
  channel.subscribe({ start() {}, end() {}, asyncStart() {}, asyncEnd() {}, error() {} });
}

function contextOf(message: unknown, current: RunContext | undefined, newRun: () => string): RunContext | undefined {
  const raw = asObject(message) ?? {};
  const event = asObject(raw["event"]) ?? {};
  if (raw["type"] === "generateText" || raw["type"] === "streamText") {
    const name = asString(event["functionId"]);
    const { agent, tool } = current ?? {};
    return {
      runId: current?.runId ?? newRun(),
      agent: {
        id: randomUUID(),
        ...(name && { name }),
        ...(agent && tool && { parent: { agentId: agent.id, callId: tool.callId } }),
        ...(agent && !tool && { handoffFrom: agent.id }),
      },
    };
  }
  if (raw["type"] === "executeTool" && current) {
    const call = asObject(event["toolCall"]) ?? {};
    const callId = asString(call["toolCallId"]);
    if (callId) return { ...current, tool: { callId, name: asString(call["toolName"]) ?? "" } };
  }
  return current;
}
