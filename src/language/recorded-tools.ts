/**
 * The tools of a recorded run: what was called, with the definition that the recording holds of it. Calls that activate
 * another agent are the team talking to itself and do not count.
 */
import type { ToolDescription } from "../core/profile.ts";
import type { TeamRun, TeamToolCall } from "../core/team-run.ts";
import type { JsonSchema } from "../core/tool.ts";
import { callArguments } from "./call-body.ts";

/** Every call of a tool, in order. */
export function recordedCalls(run: TeamRun): TeamToolCall[] {
  const activations = new Set(run.agents.map((agent) => agent.parentCallId));
  return run.steps
    .flatMap((step) => step.toolCalls)
    .filter((call) => call.delegatesTo === undefined && !activations.has(call.id) && !/^transfer_to_/.test(call.name));
}

/** The tools that were called, each once; a schema that was not recorded is told from the calls. */
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
