/**
 * A team run is what a multi-agent system did for one task, ours or any other: which agents there were, who called whom,
 * every model call with what the agent saw and wrote, every tool call, what it cost, and the answer. Messages are stored
 * once and referred to by hash, because every call repeats the history and payloads would grow with its square.
 * `completeness` says what the recording lost, so that a truncated run is never trained on by accident.
 */
import { z } from "zod";
import { endingSchema } from "./ending-schema.ts";
import { messageSchema, toolCallSchema } from "./message.ts";
import { usageSchema } from "./usage-schema.ts";

/** How agents share context: each sub-agent alone with its sub-task, or one history that all continue. */
export const topologies = ["agents-as-tools", "handoff", "single", "unknown"] as const;
export type Topology = (typeof topologies)[number];

const teamAgentSchema = z.object({
  /** One activation of an agent: the same agent called twice is two entries. */
  id: z.string(),
  name: z.string(),
  /** What it does in our terms, where known: `manager`, `search`, `reader`, `code`, `reflector`, `verifier`. */
  role: z.string().optional(),
  /** The tool call (of another agent) that activated it; absent for the first agent. */
  parentCallId: z.string().optional(),
  /** The agent that handed over to it, where control moved without a call, or whose reply the program gave it. */
  handoffFrom: z.string().optional(),
  /** Further agents whose replies the program gave it when it began: where branches of a flow come together. */
  joins: z.array(z.string()).optional(),
  /** It worked beside the task: nothing that it said is the answer. */
  side: z.enum(["title", "guard", "selector", "memory"]).optional(),
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

const teamToolCallSchema = toolCallSchema.extend({
  result: z.string().optional(),
  error: z.string().optional(),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** The agent that this call activated (delegation), where it is one. */
  delegatesTo: z.string().optional(),
});
export type TeamToolCall = z.infer<typeof teamToolCallSchema>;

const teamStepSchema = z.object({
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
  reasoningTokens: z.number().optional(),
  costUsd: z.number().optional(),
  /** Why the model stopped; `length` means that the text is cut. */
  finish: z.enum(["stop", "length", "tool_calls", "refusal", "other"]).optional(),
  /** What the model said instead of an answer when it refused. */
  refusal: z.string().optional(),
  /** Sampling and output settings of the call as sent: temperature, response format. */
  settings: z.record(z.string(), z.unknown()).optional(),
  startedAt: z.number().optional(),
  endedAt: z.number().optional(),
  /** The reply as it was sampled, where the server said so: ids, log-probabilities, and without ids the tokens' texts. */
  sampled: z
    .object({
      tokens: z.array(z.number()).optional(),
      logprobs: z.array(z.number()).optional(),
      texts: z.array(z.string()).optional(),
    })
    .optional(),
  /** The server's id of the response, to join wire records with spans. */
  responseId: z.string().optional(),
  error: z.string().optional(),
});
export type TeamStep = z.infer<typeof teamStepSchema>;

/** How a team ended: the common vocabulary, and whether a verifier accepted the answer (absent where none was asked). */
const teamEndingSchema = endingSchema.extend({ verified: z.boolean().optional() });
export type TeamEnding = z.infer<typeof teamEndingSchema>;

export const teamRunSchema = z.object({
  version: z.literal(1),
  id: z.string(),
  taskId: z.string().optional(),
  question: z.string(),
  /** The conversation before the question, oldest first. */
  history: z.array(messageSchema).optional(),
  /** Turns of one conversation share it. */
  session: z.string().optional(),
  family: z.string().optional(),
  topology: z.enum(topologies),
  agents: z.array(teamAgentSchema),
  /** Model calls in the order they started. */
  steps: z.array(teamStepSchema),
  /** Every distinct message once, by hash of its content. */
  messages: z.record(z.string(), messageSchema),
  answer: z.string().nullable(),
  ending: teamEndingSchema,
  /** How often the team made a new plan, and the verifier's scores in order (null where it gave none). */
  replans: z.number().optional(),
  scores: z.array(z.number().nullable()).optional(),
  /** Scores from 0 to 1 that people or checks gave it, as its recorder kept them. */
  feedback: z.array(z.object({ name: z.string(), score: z.number() })).optional(),
  usage: usageSchema,
  /** Which recorder it came from: `team`, `proxy`, `preload`, `otlp`, `langsmith`, `import:smolagents`… */
  source: z.string(),
  completeness: z.object({
    toolSchemas: z.boolean(),
    toolCallIds: z.boolean(),
    content: z.boolean(),
    truncated: z.boolean(),
    notes: z.array(z.string()),
    /** What was not recorded but inferred from content: which calls are one run, who called whom. */
    inferred: z.array(z.enum(["run", "links"])).optional(),
    /** Why it must not be trained on; empty or absent where there is no such reason. */
    untrainable: z
      .array(z.object({ reason: z.string(), step: z.string().optional(), detail: z.string().optional() }))
      .optional(),
  }),
  /** The user's own notes; nothing here is read by this package. */
  meta: z.record(z.string(), z.unknown()).optional(),
});
export type TeamRun = z.infer<typeof teamRunSchema>;
