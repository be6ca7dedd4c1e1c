/**
 * A team run is what a multi-agent system did for one task, ours or anybody's: which agents there were, who called whom,
 * every model call with what the agent saw and wrote, every tool call, what it cost, and the answer. Messages are stored
 * once and referred to by hash, because every call repeats the history and payloads would grow with its square.
 * `completeness` says what the recording lost, so that a truncated run is never trained on by accident.
 */
import { z } from "zod";
import { messageSchema, toolCallSchema } from "./message.ts";
import { usageSchema } from "./usage.ts";

/** How agents share context: each sub-agent alone with its sub-task, or one history handed on. */
export const topologies = ["agents-as-tools", "handoff", "single", "unknown"] as const;
export type Topology = (typeof topologies)[number];

export const teamAgentSchema = z.object({
  /** One activation of an agent: the same agent called twice is two entries. */
  id: z.string(),
  name: z.string(),
  /** What it does in our terms, where known: `manager`, `search`, `reader`, `code`, `reflector`, `verifier`. */
  role: z.string().optional(),
  /** The tool call (of another agent) that activated it; absent for the first agent. */
  parentCallId: z.string().optional(),
  /** The agent that handed over to it, where control moved without a call. */
  handoffFrom: z.string().optional(),
  /** More than one candidate fitted, so the link above is marked and not to be trusted. */
  ambiguousLink: z.boolean().optional(),
  instructions: z.string().optional(),
  /** Tool definitions it was given: name, description, JSON schema. */
  tools: z
    .array(z.object({ name: z.string(), description: z.string().optional(), parameters: z.unknown().optional() }))
    .optional(),
  /** What it reported back to its caller. */
  report: z.string().optional(),
});
export type TeamAgent = z.infer<typeof teamAgentSchema>;

export const teamToolCallSchema = toolCallSchema.extend({
  result: z.string().optional(),
  error: z.string().optional(),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** The agent that this call activated (delegation), where it is one. */
  delegatesTo: z.string().optional(),
});
export type TeamToolCall = z.infer<typeof teamToolCallSchema>;

export const teamStepSchema = z.object({
  id: z.string(),
  agentId: z.string(),
  /** What kind of move it was, where the system says so: our own team always does, foreign ones rarely. */
  move: z.enum(["plan", "act", "review", "verify", "report", "answer", "summarise"]).optional(),
  model: z.string().optional(),
  /** Hashes into `messages`, in order: what the agent saw. */
  input: z.array(z.string()),
  text: z.string(),
  reasoning: z.string().optional(),
  toolCalls: z.array(teamToolCallSchema),
  promptTokens: z.number(),
  completionTokens: z.number(),
  cachedTokens: z.number().optional(),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** The server's id of the response, to join wire records with spans. */
  responseId: z.string().optional(),
  error: z.string().optional(),
});
export type TeamStep = z.infer<typeof teamStepSchema>;

export const teamRunSchema = z.object({
  version: z.literal(1),
  id: z.string(),
  taskId: z.string().optional(),
  question: z.string(),
  topology: z.enum(topologies),
  agents: z.array(teamAgentSchema),
  /** Model calls in the order they started. */
  steps: z.array(teamStepSchema),
  /** Every distinct message once, by hash of its content. */
  messages: z.record(z.string(), messageSchema),
  answer: z.string().nullable(),
  usage: usageSchema,
  /** Which door it came through: `team`, `proxy`, `preload`, `otlp`, `langsmith`, `import:smolagents`… */
  source: z.string(),
  completeness: z.object({
    toolSchemas: z.boolean(),
    toolCallIds: z.boolean(),
    content: z.boolean(),
    truncated: z.boolean(),
    notes: z.array(z.string()),
  }),
  error: z.string().optional(),
  meta: z.record(z.string(), z.unknown()).optional(),
});
export type TeamRun = z.infer<typeof teamRunSchema>;

/** Nothing was lost: the record of a system that recorded itself. */
export function fullyComplete(): TeamRun["completeness"] {
  return { toolSchemas: true, toolCallIds: true, content: true, truncated: false, notes: [] };
}
