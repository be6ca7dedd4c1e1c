/** What to call an agent without a name: by the call that started it, by its instructions, or by its place. */
import { asObject, asString, parseJson } from "../core/json-value.ts";
import type { ToolCall } from "../core/message.ts";

/** Arguments that name the agent meant, whatever the tool is called; surest first. */
const sureKeys = [
  /^(?:to_|target_|next_)?sub_?agent(?:_(?:type|name|id|role|key))?$/,
  /^(?:to_|target_|next_)?agent_(?:name|type|id|key|role)$/,
  /^(?:to_|target_|next_)?agents?$/,
];

/** Arguments that do so where the tool starts whichever agent is named. */
const likelyKeys =
  /^(?:assistant|coworker|assignee|recipient|specialist|expert|member|team_?member|worker|delegate_to|hand_?off_to|target|to|who|next|name|role|persona)(?:_(?:name|id|type))?$/;

/** Tools that start whichever agent their arguments name; a tool that is called like its agent is not among them. */
const genericTool =
  /^(?:task|tasks|delegate|delegation|hand_?off|transfer|switch|assign|dispatch|route|spawn|invoke|run|call|ask|start|launch|use|send|message)(?:[_-]?(?:to|task|work|agent|agents|sub_?agent|message|question|coworker|members?|team|assistant|specialist|worker|control|over))*$/i;

/** The agent that a delegating call names: in its arguments, or by the tool's own name. */
export function nameFromCall(call: ToolCall): string {
  const named = nameInArguments(call);
  return named ?? cleanName(call.name);
}

function nameInArguments(call: ToolCall): string | undefined {
  const input = asObject(parseJson(call.arguments)) ?? {};
  const snake = (text: string) => text.replace(/([a-z])([A-Z])/g, "$1_$2");
  const patterns = genericTool.test(snake(call.name)) ? [...sureKeys, likelyKeys] : sureKeys;
  for (const pattern of patterns) {
    for (const [key, raw] of Object.entries(input)) {
      const [one = raw, ...others] = Array.isArray(raw) ? raw : [];
      const isOne = others.length === 0 && pattern.test(snake(key).toLowerCase());
      const value = isOne ? (asString(one) ?? asString(asObject(one)?.["name"])) : "";
      if (value && /^[\p{L}\p{N}][\p{L}\p{N} ._:/-]{0,59}$/u.test(value)) return value;
    }
  }
  return undefined;
}

/** Whether a call moves control to another agent instead of asking it something. */
export function isTransfer(name: string): boolean {
  return /^(?:transfer|hand_?off|switch)(?:_|-|to|$)/i.test(name) || /transfer_?to|hand_?off/i.test(name);
}

/** The name an agent is given in its instructions, where they say "You are the …". */
export function toldName(instructions: string): string | undefined {
  const given = /\b(?:your (?:internal )?name is|agent named) ["'`]([\w][\w -]{0,40})["'`]/i.exec(instructions)?.[1];
  if (given) return given;
  const told =
    /\bYou are (?:the|an?) ([\w][\w -]{1,40}?)(?:[.,;:\n]|\s(?:that|who|and|for|in|of)\b|$)/i.exec(instructions) ??
    /^You are ([A-Z][\w-]*(?: [A-Z][\w-]*){0,3})\./.exec(instructions);
  return told?.[1]?.trim().replaceAll(" ", "_").toLowerCase();
}

/** Frameworks dress up the names of agents when they offer them as tools. */
function cleanName(name: string): string {
  return name.replace(/^(?:agent[-_]|transfer_to_|handoff_to_|hand_off_to_|delegate_to_|call_)/i, "") || name;
}
