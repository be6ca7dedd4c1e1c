/**
 * OAgents run logs: one object for each task, with the manager's steps and, under `search_agent_actions`, what its search
 * agent did for each sub-task. Sub-agents are keyed by the text of their sub-task alone, so each is linked to the call
 * whose code holds that text; where several do, the link is marked.
 */

import { asArray, asObject, asString, asText } from "../../core/json-value.ts";
import type { TeamAgent, TeamRun } from "../../core/team-run.ts";
import { assembleRun, type CallParts } from "../assemble-run.ts";
import { smolagentsToRun } from "./smolagents.ts";

type Json = Record<string, unknown>;

export function oagentsToRun(record: Json, fallbackId: string): TeamRun {
  const id = asString(record["task_id"]) ?? fallbackId;
  const started = seconds(record["start_time"]);
  const steps = asArray(record["intermediate_steps"]).map((item, index) => {
    const step = asObject(item) ?? {};
    if (step["step_type"] === "planning") {
      return {
        plan: [step["facts"], step["plan"]].filter((text) => typeof text === "string").join("\n\n"),
        ...timeOf(step, started, index),
      };
    }
    return { ...step, step_number: step["step"] ?? index, ...timeOf(step, started, index) };
  });
  const manager = smolagentsToRun(
    { steps: [{ task: asText(record["augmented_question"] ?? record["question"]) }, ...steps] },
    id,
  );
  const agents: TeamAgent[] = [{ id: "agent-1", name: asString(record["agent_name"]) ?? "manager" }];
  const calls: CallParts[] = manager.steps.map(({ id: _id, input, ...step }) => ({
    ...step,
    messages: input.map((key) => manager.messages[key]!),
    tools: [],
  }));
  const own = calls.flatMap((call) => call.toolCalls.map((tool) => ({ tool, call })));
  for (const [task, value] of Object.entries(asObject(record["search_agent_actions"]) ?? {})) {
    const fitting = own.filter(({ tool }) => tool.arguments.includes(task.trim().slice(0, 200)));
    const agentId = `agent-${agents.length + 1}`;
    agents.push({
      id: agentId,
      name: "search_agent",
      ...(fitting[0] && { parentCallId: fitting[0].tool.id }),
      ...(fitting.length > 1 && { ambiguousLink: true }),
      report: asText(asObject(value)?.["answer"]),
    });
    calls.push(subAgentCall(asObject(value) ?? {}, task, agentId, fitting[0]?.call.startedAt));
  }
  const failure = record["agent_error"] ? asText(record["agent_error"]) : undefined;
  const run = assembleRun({
    id,
    taskId: id,
    question: asText(record["question"]),
    source: "import:oagents",
    agents,
    calls,
    answer: record["prediction"] === null || record["prediction"] === undefined ? null : asText(record["prediction"]),
    toolCallIds: false,
    notes: [
      "sub-agents' thoughts and token counts are not in the file",
      "sub-agents are linked by the text of their task",
    ],
    ...(failure !== undefined && { error: failure }),
  });
  return { ...run, meta: { level: record["task"], trueAnswer: record["true_answer"] } };
}

/** All a sub-agent did, as one call: the file keeps its tools and its answer, not its turns. */
function subAgentCall(value: Json, task: string, agentId: string, startedAt: number | undefined): CallParts {
  return {
    agentId,
    messages: [{ role: "user", content: task }],
    tools: [],
    text: asText(value["answer"]),
    toolCalls: asArray(value["tool_calls"]).map((item, index) => {
      const raw = asObject(item) ?? {};
      return {
        id: `${agentId}-call-${index + 1}`,
        name: asText(raw["name"]),
        arguments: asText(raw["args"] ?? raw["arguments"]),
        result: asText(raw["observation"]),
      };
    }),
    promptTokens: 0,
    completionTokens: 0,
    startedAt: (startedAt ?? 0) + 0.5,
    endedAt: (startedAt ?? 0) + 0.5,
  };
}

function timeOf(step: Json, started: number, index: number): { start_time: number; end_time: number } {
  const start = typeof step["start_time"] === "number" ? step["start_time"] : started + index;
  return { start_time: start, end_time: typeof step["end_time"] === "number" ? step["end_time"] : start };
}

/** "2025-06-01 12:30:00" to seconds. */
function seconds(value: unknown): number {
  const time = typeof value === "string" ? Date.parse(`${value.replace(" ", "T")}Z`) : Number.NaN;
  return Number.isNaN(time) ? 0 : time / 1000;
}
