/**
 * Tools that a client brings along and runs itself. They are added to the profile like any other tool; a call of one
 * suspends the chain. The id of a call names its chain and its place in it, so that the result leads back there in
 * every API.
 */
import { Refusal } from "../base/http/refusal.ts";
import type { ToolDefinition } from "../base/wire/wire-api.ts";
import { asObject } from "../core/json-value.ts";
import type { ToolDescription } from "../core/profile.ts";
import type { PendingCall } from "../core/trajectory.ts";

export interface ClientCall {
  /** Without the prefix that each API has of its own. */
  id: string;
  tool: string;
  input: unknown;
}

export function clientCall(chainId: string, { id, tool, input }: PendingCall): ClientCall {
  return { id: `${chainId.replace(/^chain_/, "")}_${id.replace(/^call_/, "")}`, tool, input };
}

/** The chain and its call that an id of ours leads to, whatever the prefix. */
export function callOf(id: string): { chain: string; call: string } | undefined {
  const found = /^[a-z]+_([0-9a-f]{32})_(\d+_\d+)$/.exec(id);
  return found ? { chain: `chain_${found[1]}`, call: `call_${found[2]}` } : undefined;
}

export function clientTools(functions: readonly ToolDefinition[]): ToolDescription[] {
  const names = new Set<string>();
  return functions.map(({ name, description = "", parameters }, index) => {
    const refuse = (message: string): never => {
      throw new Refusal(400, message, { code: "invalid_tool", param: `tools[${index}]` });
    };
    if (!/^[\w.-]{1,64}$/.test(name)) refuse(`"${name}" can't be the name of a tool: letters, digits, _ and - only`);
    if (names.has(name)) refuse(`two tools are named ${name}`);
    names.add(name);
    const schema = parameters === undefined || parameters === null ? {} : asObject(parameters);
    if (!schema) refuse(`the parameters of ${name} must be a JSON schema`);
    const type = schema!["type"] ?? "object";
    if (type !== "object") refuse(`the parameters of ${name} must be an object, not ${JSON.stringify(type)}`);
    return { name, description, inputSchema: { properties: {}, ...schema, type: "object" } };
  });
}
