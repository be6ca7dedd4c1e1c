/**
 * Tools join a profile: the tags that call tools become exactly the tools that exist. A tag without its tool is
 * removed, a tool without a tag gets one, wherever the profile lets a tool be called. Prompt, grammar, validator and
 * runtime all follow from the profile, so none of them can offer a tool that is missing or hide one that was given.
 * What makes no sense (no tool at all, a role after which nothing is left, a tool that no rule leads to) is an error
 * before any call.
 */
import { UsageError } from "../core/errors.ts";
import { asObject } from "../core/json-value.ts";
import type { BodyFormat, Profile, TagSpec, ToolDescription } from "../core/profile.ts";
import { type JsonSchema, type Tool, toolJsonSchema } from "../core/tool.ts";
import { defineProfile, tagNameOf, tagNames, toolTags } from "./profile.ts";

/** A tool as far as a profile needs it: with or without the code that runs it. */
export type KnownTool = Pick<Tool, "name" | "description" | "inputSchema"> | ToolDescription;

/** Tools by value: name, description and JSON schema. */
export function describeTools(tools: readonly KnownTool[]): ToolDescription[] {
  return tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema: toolJsonSchema({ inputSchema } as Tool),
  }));
}

/** The same profile with exactly these tools; the profile itself where it has them already. */
export function withTools(profile: Profile, tools: readonly KnownTool[]): Profile {
  const given = new Set(tools.map((tool) => tool.name));
  const before = toolTags(profile);
  const gone = new Set(before.filter((tag) => !given.has(tag.tool!)).map((tag) => tag.name));
  const own = tools.filter((tool) => !before.some((tag) => tag.tool === tool.name));
  if (gone.size === 0 && own.length === 0) return profile;
  const fail = (message: string): never => {
    throw new UsageError(`the ${profile.name} profile ${message}`);
  };
  const calls = before.map((tag) => tag.tool).join(", ");
  if (tools.length === 0) fail(`calls ${calls}, and no tool was given: pass at least one tool`);

  const added = ownTags(profile, own);
  const names = added.map((tag) => tag.name);
  const isTool = new Set(before.map((tag) => tag.name));
  /** A list of tags in which the tools are those that exist. */
  const updated = (list: readonly string[]): string[] => {
    const last = list.findLastIndex((name) => isTool.has(name));
    const withOwn = last < 0 ? [...list] : [...list.slice(0, last + 1), ...names, ...list.slice(last + 1)];
    return withOwn.filter((name) => !gone.has(name));
  };
  const free = before.length === 0; // a profile of roles alone: its tools may be called at any time
  const nextOf = (tag: TagSpec) => (free && tag.name !== profile.answer ? [...tag.next, ...names] : updated(tag.next));
  const all = [
    ...profile.tags.filter((tag) => !gone.has(tag.name)).map((tag) => ({ ...tag, next: nextOf(tag) })),
    ...added.map((tag) => ({ ...tag, next: updated(tag.next) })),
  ];
  const start = free ? [...profile.start, ...names] : updated(profile.start);
  const reached = new Set(start);
  for (const name of reached) for (const next of all.find((tag) => tag.name === name)?.next ?? []) reached.add(next);
  const tags = all.filter((tag) => reached.has(tag.name) || tag.tool !== undefined || tag.name === profile.answer);
  for (const tag of tags) {
    if (!reached.has(tag.name)) {
      fail(tag.tool ? `has no rule that leads to the tool ${tag.tool}` : "has no way to its answer with these tools");
    }
    if (tag.next.length === 0 && tag.name !== profile.answer) {
      fail(`has nothing left to do after ${tag.name} without ${[...gone].join(", ")}`);
    }
  }
  const left = new Set(tags.map((tag) => tag.name));
  const gates = profile.gates
    .filter((gate) => left.has(gate.tag))
    .map((gate) =>
      gate.when === "any-rating"
        ? { ...gate, leaves: updated(gate.leaves) }
        : { ...gate, forbids: updated(gate.forbids) },
    );
  return defineProfile({ ...profile, start, tags: inOrder(profile, tags), gates });
}

/** Tools are together, at the place of the profile's first tool; the rest keeps its order. */
function inOrder(profile: Profile, tags: readonly TagSpec[]): TagSpec[] {
  const first = profile.tags.findIndex((tag) => tag.tool !== undefined);
  if (first < 0) return [...tags];
  const before = new Set(profile.tags.slice(0, first).map((tag) => tag.name));
  const place = (tag: TagSpec) => (before.has(tag.name) ? 0 : tag.tool !== undefined ? 1 : 2);
  return tags.toSorted((a, b) => place(a) - place(b));
}

/** Tags for tools that the profile does not know: thought and followed like the tools that it knows. */
function ownTags(profile: Profile, tools: readonly KnownTool[]): TagSpec[] {
  const models = toolTags(profile);
  const names = ownNames(profile, tools);
  const roles = profile.tags.map((tag) => tag.name);
  const next = models.length > 0 ? [...new Set(models.flatMap((tag) => tag.next))] : [...roles, ...names];
  return tools.map((tool, index) => {
    const schema = soundSchema(toolJsonSchema({ inputSchema: tool.inputSchema } as Tool));
    const body = bodyFor(schema, tool.description);
    const fields = body.kind === "json" ? fieldsHint(schema) : "";
    const job = `${tool.description.replaceAll(/\s+/g, " ").trim()}${fields}`;
    return { name: names[index]!, job, body, tool: tool.name, think: models[0]?.think ?? "optional", next };
  });
}

/** A tag name for each tool that no other tag has. */
function ownNames(profile: Profile, tools: readonly KnownTool[]): string[] {
  const taken = new Set([...tagNames(profile), "text"]);
  return tools.map((tool) => {
    const plain = tagNameOf(tool.name) || "tool";
    const base = taken.has(plain) ? `${plain}_tool` : plain;
    let name = base;
    for (let count = 2; taken.has(name); count++) name = `${base}_${count}`;
    taken.add(name);
    return name;
  });
}

/** A schema in which every part has the form that schemas have: clients and servers write what they like. */
function soundSchema(given: unknown): JsonSchema {
  const { properties, items, type, ...rest } = asObject(given) ?? {};
  const lists = ["required", "enum", "examples"].filter((name) => !Array.isArray(rest[name]));
  const fields = Object.entries(asObject(properties) ?? {}).map(([name, one]) => [name, soundSchema(one)]);
  const inner = { ...(asObject(properties) && { properties: Object.fromEntries(fields) }), ...(asObject(items) && { items: soundSchema(items) }) }; // biome-ignore format: one object
  const others = Object.fromEntries(Object.entries(rest).filter(([name]) => !lists.includes(name)));
  return { ...others, ...inner, ...(typeof type === "string" && { type }) };
}

/** How calls of a tool are written: plainly where one text is all it needs, as JSON otherwise. */
function bodyFor(schema: JsonSchema, description: string): BodyFormat {
  const properties = Object.entries(schema.properties ?? {});
  const [only] = properties.length === 1 ? properties : [];
  if (only) {
    const [name, { type }] = only;
    if (/^(?:urls?|.*_urls?)$/i.test(name) && (type === "string" || type === "array")) return { kind: "urls" };
    if (/^(?:code|program|script)$/i.test(name) && type === "string")
      return { kind: "code", fence: /python/i.test(description) ? "py" : null, stdin: false };
    if (type === "string") return { kind: "text" };
  }
  return { kind: "json", example: JSON.stringify(exampleOf(schema)) };
}

function exampleOf(schema: JsonSchema): unknown {
  const given = (schema["examples"] as unknown[] | undefined)?.[0] ?? schema["default"] ?? schema["const"];
  if (given !== undefined) return given;
  const choices = schema["enum"] as unknown[] | undefined;
  if (choices && choices.length > 0) return choices[0];
  if (schema.properties) {
    const required = schema.required ?? [];
    const shown = Object.entries(schema.properties).filter(([name], index) => required.includes(name) || (required.length === 0 && index < 3)); // biome-ignore format: one condition
    return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property)]));
  }
  const items = schema["items"] as JsonSchema | undefined;
  const byType: Record<string, unknown> = { number: 1, integer: 1, boolean: true, object: {}, null: null };
  if (schema.type === "array") return items ? [exampleOf(items)] : [];
  return schema.type !== undefined && schema.type in byType ? byType[schema.type] : "…";
}

/** The fields of a JSON body in one line: type, whether it may be left out, what it means. */
function fieldsHint(schema: JsonSchema): string {
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const choices = (property["enum"] as unknown[] | undefined)?.map((one) => JSON.stringify(one)).join(" or ");
    const optional = schema.required?.includes(name) ? "" : ", optional";
    const about = typeof property["description"] === "string" ? `: ${property["description"]}` : "";
    return `${name} (${choices ?? property.type ?? "any"}${optional})${about}`;
  });
  return fields.length === 0 ? "" : ` Fields: ${fields.join("; ")}.`;
}
