/**
 * Team runs of five agent frameworks, put together from the model calls each of them made over the wire (one task, a
 * manager with a search agent and a code agent). A call that continues an agent's history is known by the ids of the tool
 * calls it answers; an agent's first call, by its text standing in the arguments of an open delegation.
 */
import { join } from "node:path";
import { z } from "zod";
import { readJsonl } from "../../src/base/files/read-jsonl.ts";
import { type Message, messageSchema, toolCallSchema } from "../../src/core/message.ts";
import type { TeamRun, TeamStep } from "../../src/core/team-run.ts";
import { emptyUsage } from "../../src/core/usage.ts";

export const frameworks = ["ai-sdk", "openai-agents", "langgraph", "mastra", "ax"] as const;

const wireCall = z.object({
  messages: z.array(messageSchema),
  tools: z.array(z.object({ name: z.string(), parameters: z.unknown() })),
  reply: z.object({
    id: z.string(),
    text: z.string(),
    toolCalls: z.array(toolCallSchema),
    promptTokens: z.number(),
    completionTokens: z.number(),
  }),
});

/** Reads one framework's run. */
export async function frameworkRun(name: (typeof frameworks)[number]): Promise<TeamRun> {
  const file = join(import.meta.dirname, `../fixtures/framework-calls/${name}.jsonl`);
  const run: TeamRun = {
    version: 1,
    id: name,
    taskId: "telescope",
    question: "",
    topology: "agents-as-tools",
    agents: [],
    steps: [],
    messages: {},
    answer: null,
    ending: { reason: "answered" },
    usage: emptyUsage(),
    source: "proxy",
    completeness: { toolSchemas: true, toolCallIds: true, content: true, truncated: false, notes: [] },
  };
  for await (const { messages, tools, reply } of readJsonl(file, wireCall)) {
    const agentId = agentOf(run, messages) ?? addAgent(run, messages, tools);
    const { id, ...rest } = reply;
    const step: TeamStep = { id: `step-${run.steps.length + 1}`, agentId, input: [], responseId: id, ...rest };
    run.steps.push(step);
    run.usage.billedTokens += reply.promptTokens + reply.completionTokens;
    if (agentId === "agent-1" && reply.toolCalls.length === 0) run.answer = reply.text;
  }
  return run;
}

/** The agent whose calls this request answers; fills in their results. */
function agentOf(run: TeamRun, messages: readonly Message[]): string | undefined {
  let agentId: string | undefined;
  for (const message of messages) {
    if (message.role !== "tool") continue;
    const step = run.steps.find((one) => one.toolCalls.some((call) => call.id === message.toolCallId));
    const call = step?.toolCalls.find((one) => one.id === message.toolCallId);
    if (!step || !call) continue;
    call.result ??= message.content;
    agentId = step.agentId;
  }
  return agentId;
}

function addAgent(run: TeamRun, messages: readonly Message[], tools: { name: string; parameters?: unknown }[]): string {
  const user = messages.findLast((message) => message.role === "user")!.content;
  const open = run.steps
    .flatMap((step) => step.toolCalls)
    .filter((call) => call.result === undefined && call.delegatesTo === undefined);
  const parent = open.find((call) =>
    Object.values(JSON.parse(call.arguments) as object).some((value) => user.includes(String(value))),
  );
  const id = `agent-${run.agents.length + 1}`;
  if (parent) parent.delegatesTo = id;
  else run.question = user;
  run.agents.push({ id, name: id, tools, ...(parent && { parentCallId: parent.id }) });
  return id;
}
