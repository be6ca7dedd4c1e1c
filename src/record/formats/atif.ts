/**
 * ATIF trajectories (the interchange format of Harbor), with sub-agents' trajectories embedded, or next to it in the
 * file.
 */

import { contentText, hasMedia, readTools } from "../../base/wire/openai-chat.ts";
import { asArray, asNumber, asObject, asString, asText } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import type { TeamAgent, TeamRun } from "../../core/team-run.ts";
import { assembleRun, type CallParts } from "../assemble-run.ts";
import { timeOf } from "./langsmith.ts";

type Json = Record<string, unknown>;

/** One run for each trajectory that no other one refers to. */
export function atifToRuns(trajectories: readonly Json[]): TeamRun[] {
  const all = new Map<string, Json>();
  const collect = (one: Json): void => {
    all.set(idOf(one), one);
    for (const child of asArray(one["subagent_trajectories"])) {
      const raw = asObject(child);
      if (raw && !all.has(idOf(raw))) collect(raw);
    }
  };
  for (const one of trajectories) collect(one);
  const referred = new Set([...all.values()].flatMap((one) => references(one).map(({ id }) => id)));
  const roots = trajectories.filter((one) => !referred.has(idOf(one)));
  return (roots.length > 0 ? roots : trajectories.slice(0, 1)).map((root) => toRun(root, all));
}

function toRun(root: Json, all: ReadonlyMap<string, Json>): TeamRun {
  const agents: TeamAgent[] = [];
  const calls: CallParts[] = [];
  const notes = new Set<string>();
  const seen = new Set<string>();
  const add = (trajectory: Json, parentCallId: string | undefined): void => {
    if (seen.has(idOf(trajectory))) return;
    seen.add(idOf(trajectory));
    const agent = asObject(trajectory["agent"]) ?? {};
    const id = `agent-${agents.length + 1}`;
    const tools = readTools(agent["tool_definitions"]);
    agents.push({
      id,
      name: asString(agent["name"]) ?? id,
      ...(tools.length > 0 && { tools }),
      ...(parentCallId !== undefined && { parentCallId }),
    });
    calls.push(...trajectoryCalls(trajectory, id, calls.length, notes));
    for (const { id: childId, callId } of references(trajectory)) {
      const child = all.get(childId);
      if (child) add(child, callId);
      else notes.add(`the trajectory of sub-agent ${childId} is not in the file`);
    }
  };
  add(root, undefined);
  return assembleRun({ id: idOf(root), source: "import:atif", agents, calls, notes: [...notes] });
}

const mediaNote = "images or files are named, not kept";

function trajectoryCalls(trajectory: Json, agentId: string, offset: number, notes: Set<string>): CallParts[] {
  const agent = asObject(trajectory["agent"]) ?? {};
  const tools = readTools(agent["tool_definitions"]);
  const history: Message[] = [];
  const calls: CallParts[] = [];
  for (const item of asArray(trajectory["steps"])) {
    const step = asObject(item) ?? {};
    const shown = asArray(asObject(step["observation"])?.["results"]).map((one) => asObject(one)?.["content"]);
    if ([step["message"], ...shown].some(hasMedia)) notes.add(mediaNote);
    const text = contentText(step["message"]);
    const results = asArray(asObject(step["observation"])?.["results"]).map((one) => asObject(one) ?? {});
    const answers = results.map(
      (one): Message => ({
        role: "tool",
        content: contentText(one["content"]),
        toolCallId: asString(one["source_call_id"]) ?? "",
      }),
    );
    if (step["source"] !== "agent") {
      history.push({ role: step["source"] === "system" ? "system" : "user", content: text });
      continue;
    }
    const asked = asArray(step["tool_calls"]).map((one) => {
      const raw = asObject(one) ?? {};
      return {
        id: asText(raw["tool_call_id"]),
        name: asText(raw["function_name"]),
        arguments: asText(raw["arguments"]),
      };
    });
    const reasoning = asString(step["reasoning_content"]);
    // A copied step belongs to another agent's account: it is history here, not a call made twice.
    if (step["is_copied_context"] !== true && asNumber(step["llm_call_count"]) !== 0) {
      const metrics = asObject(step["metrics"]) ?? {};
      const at = timeOf(step["timestamp"]) ?? offset + calls.length;
      const cached = asNumber(metrics["cached_tokens"]);
      calls.push({
        agentId,
        messages: [...history],
        tools,
        text,
        ...(reasoning && { reasoning }),
        toolCalls: asked.map((call) => {
          const result = answers.find((answer) => answer.toolCallId === call.id)?.content;
          return { ...call, ...(result !== undefined && { result }) };
        }),
        model: asString(step["model_name"]) ?? asString(agent["model_name"]),
        promptTokens: asNumber(metrics["prompt_tokens"]) ?? 0,
        completionTokens: asNumber(metrics["completion_tokens"]) ?? 0,
        ...(cached !== undefined && { cachedTokens: cached }),
        costUsd: asNumber(metrics["cost_usd"]) ?? 0,
        ...(notes.has(mediaNote) && { lost: ["media" as const] }),
        startedAt: at,
        endedAt: at,
      });
    }
    history.push({ role: "assistant", content: text, ...(asked.length > 0 && { toolCalls: asked }) }, ...answers);
  }
  return calls;
}

function references(trajectory: Json): { id: string; callId: string | undefined }[] {
  return asArray(trajectory["steps"]).flatMap((step) =>
    asArray(asObject(asObject(step)?.["observation"])?.["results"]).flatMap((result) =>
      asArray(asObject(result)?.["subagent_trajectory_ref"]).flatMap((reference) => {
        const raw = asObject(reference) ?? {};
        const id = asString(raw["trajectory_id"]) ?? asString(raw["session_id"]);
        return id === undefined ? [] : [{ id, callId: asString(asObject(result)?.["source_call_id"]) }];
      }),
    ),
  );
}

function idOf(trajectory: Json): string {
  return asString(trajectory["trajectory_id"]) ?? asString(trajectory["session_id"]) ?? "trajectory";
}
