/** The chain as a tool of the Model Context Protocol: a question in, the answer out, roles and calls as progress. */
import { refusalOf } from "../../base/http/refusal.ts";
import { asObject, asString } from "../../core/json-value.ts";
import type { Message } from "../../core/message.ts";
import { chainRequest } from "../chain-request.ts";
import type { ChainService } from "../chain-service.ts";
import { settle } from "../send-reply.ts";
import type { McpTool } from "./mcp-endpoint.ts";

const shownCharacters = 500;

/** `ask_chain{question}`. */
export function askChain(service: ChainService): McpTool {
  return {
    name: "ask_chain",
    description: `Ask ${service.name}: it plans, uses its own tools, checks and answers. ${service.profile.purpose}`,
    inputSchema: {
      type: "object",
      properties: {
        question: { type: "string", description: "The question, with everything needed to understand it." },
        instructions: { type: "string", description: "How to answer." },
      },
      required: ["question"],
      additionalProperties: false,
    },
    outputSchema: {
      type: "object",
      properties: {
        answer: { type: "string" },
        trajectory_id: { type: "string" },
        tokens: { type: "number", description: "Prompt and completion tokens of all model calls." },
        tool_calls: { type: "number" },
      },
      required: ["answer", "trajectory_id", "tokens", "tool_calls"],
    },
    async call(given, { caller, signal, progress }) {
      const input = asObject(given) ?? {};
      const question = asString(input["question"])?.trim();
      if (!question) return { text: "error: question must be a text", failed: true };
      const instructions = asString(input["instructions"]);
      const messages: Message[] = [
        ...(instructions ? [{ role: "system" as const, content: instructions }] : []),
        { role: "user", content: question },
      ];
      try {
        const asked = await chainRequest(service, { wire: { messages, tools: [] }, body: {}, caller });
        const run = await service.start(asked, signal);
        const told: Promise<void>[] = [];
        let line = "";
        const end = await run((event) => {
          if (event.type === "role-start") line = `${event.role}: `;
          if (event.type === "role-delta") line += event.text;
          if (event.type === "role-end") told.push(progress(line.slice(0, shownCharacters)).catch(() => {}));
        });
        await Promise.all(told);
        const { answer, ending, usage } = await settle(end, caller);
        if (answer === null) return { text: `error: no answer (${ending.detail ?? ending.reason})`, failed: true };
        const counted = { tokens: usage.billedTokens, tool_calls: usage.toolCalls };
        return { text: answer, structured: { answer, trajectory_id: asked.id, ...counted } };
      } catch (error) {
        if (signal.aborted) throw error;
        return { text: `error: ${refusalOf(error).message}`, failed: true };
      }
    },
  };
}
