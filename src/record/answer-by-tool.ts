/** Answers that an agent gives by calling a tool: `final_answer`, a forced call, structured output. */
import { asObject, asString, parseJson } from "../core/json-value.ts";
import type { TeamStep } from "../core/team-run.ts";

const answerTool =
  /^(?:final_?(?:answer|result|output|response)|submit(?:_?(?:answer|result|final_?answer|final_?report))?|give_?answer|answer|respond|response|finish|done|structured_?(?:output|response)|return_?(?:answer|result)|json_?(?:output|tool_?call)?|output|(?:extract|result)(?:-\d+)?)$/i;

/** The answer that the last step of a run gave to a tool; undefined where it only called one. */
export function answerByTool(step: Pick<TeamStep, "toolCalls" | "settings">): string | undefined {
  const [call, ...others] = step.toolCalls;
  if (!call || others.length > 0 || call.delegatesTo !== undefined) return undefined;
  const snake = call.name.replace(/([a-z])([A-Z])/g, "$1_$2");
  if (!answerTool.test(snake) && forcedTool(step.settings?.["toolChoice"]) !== call.name) return undefined;
  const input = parseJson(call.arguments);
  if (typeof input === "string") return input;
  const fields = Object.entries(asObject(input) ?? {});
  const named = asString(asObject(input)?.["answer"]) ?? asString(asObject(input)?.["final_answer"]);
  if (named !== undefined && fields.length === 1) return named;
  const only = fields.length === 1 ? asString(fields[0]![1]) : undefined;
  return only ?? call.arguments;
}

/** The one tool that a request forced the model to call, in the spelling of any API. */
function forcedTool(choice: unknown): string | undefined {
  const raw = asObject(choice);
  const inner = asObject(raw?.["function"]) ?? asObject(raw?.["tool"]) ?? raw;
  const allowed = raw?.["allowedFunctionNames"] ?? raw?.["allowed_function_names"];
  if (Array.isArray(allowed) && allowed.length === 1) return asString(allowed[0]);
  return asString(inner?.["name"]);
}
