/**
 * smolagents memory (`agent.memory.get_full_steps()` as JSON): task, planning and action steps of one agent. A managed
 * agent's own memory is wiped on each call, so only its report is here, as the result of the call.
 */

import { contentText, readChatMessage, readTools } from "../../base/wire/openai-chat.ts";
import { asArray, asNumber, asObject, asString, asText } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import type { TeamRun, TeamToolCall } from "../../core/team-run.ts";
import { assembleRun, type CallParts } from "../assemble-run.ts";

type Json = Record<string, unknown>;

/** One agent's memory: a list of steps, or an object with `steps`. */
export function smolagentsToRun(payload: unknown, fallbackId: string): TeamRun {
  const outer = asObject(payload) ?? {};
  const steps = asArray(Array.isArray(payload) ? payload : (outer["steps"] ?? outer["memory"])).map(
    (step) => asObject(step) ?? {},
  );
  const task = asString(steps.find((step) => typeof step["task"] === "string")?.["task"]) ?? "";
  const system = asString(steps.find((step) => typeof step["system_prompt"] === "string")?.["system_prompt"]);
  const history: Message[] = [
    ...(system === undefined ? [] : [{ role: "system" as const, content: system }]),
    { role: "user", content: task },
  ];
  const calls: CallParts[] = [];
  let answer: string | null = null;
  for (const step of steps) {
    const call =
      "plan" in step
        ? planningCall(step, history)
        : "step_number" in step || "model_output" in step
          ? actionCall(step, history)
          : undefined;
    if (!call) continue;
    calls.push({ ...call, startedAt: call.startedAt ?? calls.length, endedAt: call.endedAt ?? calls.length });
    if (step["is_final_answer"] === true) answer = asText(step["action_output"]);
  }
  const given = outer["output"] ?? outer["final_answer"];
  return assembleRun({
    id: asString(outer["id"]) ?? fallbackId,
    question: task,
    source: "import:smolagents",
    agents: [{ id: "agent-1", name: asString(outer["agent_name"]) ?? asString(outer["name"]) ?? "manager" }],
    calls,
    ...((given !== undefined && given !== null) || answer !== null ? { answer: answer ?? asText(given) } : {}),
    notes: ["sub-agents' own steps are not in a memory file, only their reports"],
  });
}

function planningCall(step: Json, history: Message[]): CallParts {
  const text = asText(step["plan"]);
  const call = { ...baseOf(step, history), text, toolCalls: [], move: "plan" as const };
  history.push({ role: "assistant", content: text });
  return call;
}

function actionCall(step: Json, history: Message[]): CallParts {
  const output = step["model_output"];
  const text = typeof output === "string" ? output : contentText(output);
  const asked = asArray(step["tool_calls"]).map((item, index) => {
    const raw = asObject(item) ?? {};
    const called = asObject(raw["function"]) ?? raw;
    return {
      id: asString(raw["id"]) ?? `step-${asText(step["step_number"])}-${index}`,
      name: asText(called["name"]),
      arguments: asText(called["arguments"]),
    };
  });
  const error = asObject(step["error"]);
  const failure = error ? (asString(error["message"]) ?? asText(error)) : undefined;
  const observation = asString(step["observations"]) ?? asString(step["observation"]);
  const result = observation ?? failure ?? (step["action_output"] == null ? undefined : asText(step["action_output"]));
  const toolCalls = asked.map((call, index): TeamToolCall => {
    const last = index === asked.length - 1;
    return {
      ...call,
      ...(last && result !== undefined && { result }),
      ...(last && failure !== undefined && { error: failure }),
    };
  });
  const call = { ...baseOf(step, history), text, toolCalls };
  history.push({ role: "assistant", content: text, ...(asked.length > 0 && { toolCalls: asked }) });
  const answered = asked.at(-1)?.id;
  if (result !== undefined) {
    history.push(
      answered === undefined
        ? { role: "user", content: result }
        : { role: "tool", content: result, toolCallId: answered },
    );
  }
  return call;
}

function baseOf(step: Json, history: readonly Message[]): Omit<CallParts, "text" | "toolCalls"> {
  const seen = asArray(step["model_input_messages"]).flatMap((item) => readChatMessage(item) ?? []);
  const usage = asObject(step["token_usage"]);
  const timing = asObject(step["timing"]);
  const start = asNumber(timing?.["start_time"] ?? step["start_time"]);
  const end = asNumber(timing?.["end_time"] ?? step["end_time"]);
  return {
    agentId: "agent-1",
    messages: seen.length > 0 ? seen : [...history],
    tools: readTools(step["tools"]),
    promptTokens: asNumber(usage?.["input_tokens"]) ?? 0,
    completionTokens: asNumber(usage?.["output_tokens"]) ?? 0,
    ...(start !== undefined && { startedAt: start * 1000 }),
    ...(end !== undefined && { endedAt: end * 1000 }),
  };
}
