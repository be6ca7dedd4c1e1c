/**
 * The tools of a recorded run: what was called, with the definition that the recording holds of it. Calls that activate
 * another agent are not calls of a tool and do not count.
 */
import type { ToolDescription } from "../core/profile.ts";
import type { TeamRun, TeamToolCall } from "../core/team-run.ts";
import type { JsonSchema } from "../core/tool.ts";
import { callArguments } from "./call-body.ts";

export function recordedCalls(run: TeamRun): TeamToolCall[] {
  const activations = new Set(run.agents.map((agent) => agent.parentCallId));
  const answers = answeringCalls(run);
  return run.steps
    .flatMap((step) => step.toolCalls)
    .filter((call) => call.delegatesTo === undefined && !activations.has(call.id) && !/^transfer_to_/.test(call.name))
    .filter((call) => !answers.has(call));
}

/**
 * Calls that are an agent's answer (`final_answer`, structured output): the last thing it did, what it said as argument, and nothing
 * came back, because the framework took it and ended.
 */
export function answeringCalls(run: TeamRun): Map<TeamToolCall, string> {
  const answers = new Map<TeamToolCall, string>();
  for (const agent of run.agents) {
    const last = run.steps.findLast((step) => step.agentId === agent.id);
    for (const call of last?.toolCalls ?? []) {
      if (call.result !== undefined || call.error !== undefined) continue;
      const said = [call.arguments, onlyText(callArguments(call.arguments))];
      const answer = [run.answer, agent.report].find((text) => text != null && said.includes(text));
      if (answer != null) answers.set(call, answer);
    }
  }
  return answers;
}

function onlyText(input: unknown): unknown {
  if (typeof input !== "object" || input === null) return input;
  const [only, ...others] = Object.values(input);
  return others.length === 0 ? only : undefined;
}

/** The tools that were called, each once; a schema that was not recorded is inferred from the calls. */
export function recordedTools(run: TeamRun): ToolDescription[] {
  const definitions = new Map(run.agents.flatMap((agent) => agent.tools ?? []).map((tool) => [tool.name, tool]));
  const calls = Map.groupBy(recordedCalls(run), (call) => call.name);
  return [...calls].map(([name, made]) => {
    const definition = definitions.get(name);
    return {
      name,
      description: definition?.description ?? name.replaceAll("_", " "),
      inputSchema: (definition?.parameters as JsonSchema | undefined) ?? schemaOfCalls(made),
    };
  });
}

function schemaOfCalls(calls: readonly TeamToolCall[]): JsonSchema {
  const properties: Record<string, JsonSchema> = {};
  for (const call of calls) {
    const input = callArguments(call.arguments);
    if (typeof input !== "object" || input === null) continue;
    for (const [name, value] of Object.entries(input)) {
      properties[name] ??= { type: Array.isArray(value) ? "array" : typeof value };
    }
  }
  return { type: "object", properties };
}
