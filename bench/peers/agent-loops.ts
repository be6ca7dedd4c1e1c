/**
 * The same six steps (five tool calls, then the answer) on the loops of other libraries, each with a model of zero
 * latency written for that library's own interface. A library that is not installed is left out.
 */

/** Runs one trajectory; `streaming` consumes every event. Returns the answer. */
export interface Peer {
  name: string;
  run(streaming: boolean): Promise<string>;
}

export const steps = 6;
export const thought = "I know the first part now, so the next thing to look up follows from what was found before.";
export const toolResult = "The record says that the thing in question is in the next place. ".repeat(8);

const usage = { inputTokens: { total: 100 }, outputTokens: { total: 20 } };

// biome-ignore lint/suspicious/noExplicitAny: other libraries' wire shapes
type Loose = any;

const isLast = (call: number) => call === steps - 1;

/** AI SDK: generateText and streamText. */
async function aiSdk(): Promise<Peer> {
  const { generateText, streamText, tool, isStepCount, stepCountIs } = (await import("ai" as string)) as Loose;
  const { z } = await import("zod");
  const search = tool({
    description: "Search.",
    inputSchema: z.object({ query: z.string() }),
    execute: async () => toolResult,
  });
  const stop = (stepCountIs ?? isStepCount)(steps + 1);
  const model = (): Loose => {
    let call = 0;
    const content = (at: number): Loose[] =>
      isLast(at)
        ? [{ type: "text", text: "done" }]
        : [
            { type: "text", text: thought },
            { type: "tool-call", toolCallId: `c${at}`, toolName: "search", input: `{"query":"q${at}"}` },
          ];
    const finish = (at: number) => ({ unified: isLast(at) ? "stop" : "tool-calls", raw: undefined });
    return {
      specificationVersion: "v4",
      provider: "bench",
      modelId: "bench",
      supportedUrls: {},
      async doGenerate() {
        const at = call++;
        return { content: content(at), finishReason: finish(at), usage, warnings: [] };
      },
      async doStream() {
        const at = call++;
        const parts: Loose[] = [{ type: "stream-start", warnings: [] }];
        for (const part of content(at)) {
          if (part.type !== "text") parts.push(part);
          else
            parts.push(
              { type: "text-start", id: "1" },
              ...chunks(part.text).map((delta) => ({ type: "text-delta", id: "1", delta })),
              { type: "text-end", id: "1" },
            );
        }
        parts.push({ type: "finish", finishReason: finish(at), usage });
        return { stream: ReadableStream.from(parts) };
      },
    };
  };
  return {
    name: "AI SDK",
    async run(streaming) {
      const options = { model: model(), tools: { search }, prompt: "question", stopWhen: stop };
      if (!streaming) return (await generateText(options)).text;
      const result = streamText(options);
      for await (const _ of result.fullStream ?? result.stream) void _;
      return result.text;
    },
  };
}

/** OpenAI Agents SDK. */
async function openaiAgents(): Promise<Peer> {
  const { Agent, Runner, tool, setTracingDisabled } = (await import("@openai/agents" as string)) as Loose;
  const { z } = await import("zod");
  setTracingDisabled(true);
  const search = tool({
    name: "search",
    description: "Search.",
    parameters: z.object({ query: z.string() }),
    execute: async () => toolResult,
  });
  const model = (): Loose => {
    let call = 0;
    const message = (text: string) => ({
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text }],
    });
    const output = (at: number): Loose[] =>
      isLast(at)
        ? [message("done")]
        : [
            message(thought),
            {
              type: "function_call",
              callId: `c${at}`,
              name: "search",
              status: "completed",
              arguments: `{"query":"q${at}"}`,
            },
          ];
    const spent = { requests: 1, inputTokens: 100, outputTokens: 20, totalTokens: 120, add() {} };
    return {
      async getResponse() {
        return { usage: spent, output: output(call++) };
      },
      async *getStreamedResponse() {
        const at = call++;
        yield { type: "response_started" };
        for (const delta of chunks(isLast(at) ? "done" : thought)) yield { type: "output_text_delta", delta };
        yield {
          type: "response_done",
          response: { id: "r", usage: { inputTokens: 100, outputTokens: 20, totalTokens: 120 }, output: output(at) },
        };
      },
    };
  };
  return {
    name: "OpenAI Agents",
    async run(streaming) {
      const agent = new Agent({ name: "a", instructions: "i", tools: [search], model: model() });
      const runner = new Runner({ tracingDisabled: true });
      if (!streaming) return (await runner.run(agent, "question", { maxTurns: steps + 1 })).finalOutput;
      const result = await runner.run(agent, "question", { maxTurns: steps + 1, stream: true });
      for await (const _ of result) void _;
      await result.completed;
      return result.finalOutput;
    },
  };
}

/** LangGraph: the agent graph as its guide writes it, a model node and a tool node. */
async function langGraph(): Promise<Peer> {
  const { StateGraph, MessagesAnnotation, START, END } = (await import("@langchain/langgraph" as string)) as Loose;
  const { ToolNode } = (await import("@langchain/langgraph/prebuilt" as string)) as Loose;
  const { AIMessage, AIMessageChunk } = (await import("@langchain/core/messages" as string)) as Loose;
  const { tool } = (await import("@langchain/core/tools" as string)) as Loose;
  const { z } = await import("zod");
  void AIMessageChunk;
  const search = tool(async () => toolResult, {
    name: "search",
    description: "Search.",
    schema: z.object({ query: z.string() }),
  });
  const answer = (at: number) =>
    isLast(at)
      ? new AIMessage("done")
      : new AIMessage({
          content: thought,
          tool_calls: [{ id: `c${at}`, name: "search", args: { query: `q${at}` }, type: "tool_call" }],
        });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("model", async (state: Loose) => ({ messages: [answer((state.messages.length - 1) / 2)] }))
    .addNode("tools", new ToolNode([search]))
    .addEdge(START, "model")
    .addConditionalEdges("model", (state: Loose) => (state.messages.at(-1).tool_calls?.length ? "tools" : END))
    .addEdge("tools", "model")
    .compile();
  const input = { messages: [{ role: "user", content: "question" }] };
  const options = { recursionLimit: 40 };
  return {
    name: "LangGraph",
    async run(streaming) {
      if (!streaming) return (await graph.invoke(input, options)).messages.at(-1).content;
      let last = "";
      for await (const step of await graph.stream(input, options)) last = step.model?.messages?.at(-1)?.content ?? last;
      return last;
    },
  };
}

/** Text as a server would stream it. */
export function chunks(text: string, size = 12): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );
}

/** Every peer that is installed and gives the right answer. */
export async function installedPeers(): Promise<Peer[]> {
  const peers: Peer[] = [];
  for (const load of [aiSdk, openaiAgents, langGraph]) {
    try {
      const peer = await load();
      for (const streaming of [false, true]) {
        const answer = await peer.run(streaming);
        if (answer !== "done") throw new Error(`answered "${answer}"`);
      }
      peers.push(peer);
    } catch (error) {
      console.error(`${load.name} is left out: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return peers;
}
