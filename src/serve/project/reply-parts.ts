/**
 * A chain as the reply of a model: roles are reasoning, the answer is text, calls of the client's own tools are calls.
 * Tools that ran here are calls of the server's where they are to be shown, and roles otherwise. `base/wire` writes the
 * parts as each API has them; how a role is titled is all that the APIs differ in here.
 */

import { estimateTokens } from "../../base/count/token-estimate.ts";
import type { ReplyEnd, ReplyPart } from "../../base/wire/reply-writer.ts";
import { limitNames } from "../../core/chain-record.ts";
import type { CallUsage } from "../../core/model.ts";
import { isClosed } from "../../core/trajectory.ts";
import { type ServedEnd, type ServedEvent, untold } from "../served-events.ts";

export interface ReplyStyle {
  /** The words with which a role opens; `first` of its reasoning or not. */
  title(role: string, first: boolean): string;
  /** What is shown of a tool's output among the reasoning; nothing if absent. */
  observation?(output: string): string;
  /** With what ids of the client's calls begin, and those of ours. */
  calls: string;
  hosted: string;
}

const titleLine = (role: string, first: boolean) => `${first ? "" : "\n"}${role}: `;

export const replyStyles = {
  chat: { title: titleLine, calls: "call_", hosted: "" },
  messages: { title: titleLine, calls: "toolu_", hosted: "mcptoolu_" },
  responses: {
    title: (role) => `**${role}**\n`,
    observation(output) {
      const [line = ""] = output.trim().split("\n");
      return line.length > 200 ? `${line.slice(0, 197)}...` : line;
    },
    calls: "call_",
    hosted: "mcp_",
  },
} satisfies Record<string, ReplyStyle>;

export interface ReplyPartsOptions {
  /** The reply's id without its prefix: ids of calls are made of it. */
  key: string;
  showTools?: boolean;
}

export function replyParts(style: ReplyStyle, options: ReplyPartsOptions): (event: ServedEvent) => ReplyPart[] {
  const { key, showTools = false } = options;
  let first = true;
  let hidden = false;
  let tools = 0;
  let told = "";
  const title = (role: string): ReplyPart => {
    const text = style.title(role, first);
    first = false;
    return { type: "reasoning", text, begins: true };
  };
  const reasoning = (text: string): ReplyPart[] => (text === "" ? [] : [{ type: "reasoning", text }]);
  return (event) => {
    switch (event.type) {
      case "role-start":
        hidden = showTools && event.tool === true;
        return hidden ? [] : [title(event.role)];
      case "role-delta":
        return hidden ? [] : reasoning(event.text);
      case "tool": {
        const { tool: name, output, ok } = event;
        if (!showTools) return style.observation ? [title("observation"), ...reasoning(style.observation(output))] : [];
        first = true;
        const call = { id: `${style.hosted}${key}_${tools++}`, name, arguments: JSON.stringify(event.input ?? {}) };
        return [{ type: "hosted", call: { ...call, result: output, failed: !ok } }];
      }
      case "answer-delta":
        told += event.text;
        return [{ type: "text", text: event.text }];
      case "answer": {
        const text = untold(event.text, told);
        return text === "" ? [] : [{ type: "text", text }];
      }
      case "client-calls":
        return [
          ...(event.state === undefined ? [] : [{ type: "state" as const, state: event.state }]),
          ...event.calls.map(({ id, tool, input }) => ({
            type: "call" as const,
            call: { id: `${style.calls}${id}`, name: tool, arguments: JSON.stringify(input) },
          })),
        ];
      default:
        return [];
    }
  };
}

/** How a chain ended, as replies end. */
export function replyEnd(end: ServedEnd): ReplyEnd {
  const { ending, segments } = end.trajectory;
  const { reason, detail = "" } = ending;
  const last = segments.at(-1);
  const cut =
    reason === "limit" ||
    (reason === "suggested" && limitNames.some((name) => name === detail)) ||
    (reason === "answered" && detail.startsWith("asked") && last !== undefined && !isClosed(last));
  const finish = reason === "suspended" ? "tool_calls" : cut ? "length" : "stop";
  return { finish, usage: servedUsage(end), ...(end.stop !== undefined && { stop: end.stop }) };
}

/**
 * What a served chain cost, as APIs report it: prompt and completion tokens of all its model calls, of which `cachedTokens`
 * would not be processed again by a prefix cache; what was not the answer is reasoning.
 */
export function servedUsage({ trajectory, usage }: ServedEnd): Required<CallUsage> {
  const { answer, segments } = trajectory;
  const { promptTokens, completionTokens, billedTokens, computedTokens } = usage;
  const last = segments.findLast((segment) => segment.by === "model" && segment.text.trim() === answer);
  const answered = last?.tokens?.length ?? (answer === null ? 0 : estimateTokens(answer));
  return {
    promptTokens,
    completionTokens,
    cachedTokens: Math.max(0, Math.min(promptTokens, billedTokens - computedTokens)),
    reasoningTokens: Math.max(0, completionTokens - answered),
  };
}
