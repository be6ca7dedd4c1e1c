/** Answers that an agent gives by calling a tool: `final_answer`, a forced call, structured output. */
import { asObject, asString, parseJson } from "../core/json-value.ts";
import type { TeamToolCall } from "../core/team-run.ts";

const answerTool =
  /^(?:(?:give|provide|submit|return|report)_?)?final_?(?:answer|result|output|response|report)$|^(?:submit(?:_?(?:answer|result))?|give_?answer|answer|respond|response|finish|done|structured_?(?:output|response)|return_?(?:answer|result)|attempt_?completion|complete_?task|task_?complete|json_?(?:output|tool_?call)?|output|(?:extract|result)(?:-\d+)?)$/i;

/** The answer that the last step of a run gave to a tool; undefined where it only called one. */
export function answerByTool(
  step: { toolCalls: readonly TeamToolCall[]; settings?: Record<string, unknown> | undefined },
  offered: readonly { name: string }[] = [],
): string | undefined {
  const only = offered.length === 1 ? offered[0]!.name : undefined;
  const forced = forcedTool(step.settings?.["toolChoice"], only);
  const [call, ...others] = step.toolCalls.filter(
    ({ name }) => answerTool.test(name.replace(/([a-z])([A-Z])/g, "$1_$2")) || name === forced,
  );
  if (!call || others.length > 0 || call.delegatesTo !== undefined) return undefined;
  const input = parseJson(call.arguments);
  if (typeof input === "string") return input;
  const fields = Object.entries(asObject(input) ?? {});
  const single = fields.length === 1 ? asString(fields[0]![1]) : undefined;
  return single ?? call.arguments;
}

/** The one tool that a request forced the model to call, in the spelling of any API; `only` is the one it offered. */
function forcedTool(choice: unknown, only: string | undefined): string | undefined {
  const raw = asObject(choice);
  const inner = asObject(raw?.["function"]) ?? asObject(raw?.["tool"]) ?? raw;
  const allowed = raw?.["allowedFunctionNames"] ?? raw?.["allowed_function_names"];
  if (Array.isArray(allowed) && allowed.length === 1) return asString(allowed[0]);
  const mode = asString(choice) ?? asString(raw?.["type"]) ?? asString(raw?.["mode"]) ?? (raw?.["any"] ? "any" : "");
  return asString(inner?.["name"]) ?? (/^(?:required|any)$/i.test(mode) ? only : undefined);
}
