/** Replays a distilled chain through the real runtime: the model says what the chain says, the tools say what was recorded. */
import { runChain } from "../../src/chain/run-chain.ts";
import { defineTask } from "../../src/core/task.ts";
import type { TeamRun } from "../../src/core/team-run.ts";
import type { Tokenizer } from "../../src/core/tokenizer.ts";
import type { Tool } from "../../src/core/tool.ts";
import { type Segment, type Trajectory, writtenForm } from "../../src/core/trajectory.ts";
import type { Profile } from "../../src/language/profile.ts";
import { toolTags } from "../../src/language/profile.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";

/** The trajectory that the runtime makes of a chain's own words and the run's recorded results. */
export async function replayChain(
  trajectory: Trajectory,
  run: TeamRun,
  profile: Profile,
  tokenizer?: Tokenizer,
): Promise<Trajectory> {
  const turns: string[] = [];
  let writing = false;
  for (const segment of trajectory.segments) {
    if (segment.by === "model") {
      if (writing) turns[turns.length - 1] += writtenForm(segment);
      else turns.push(writtenForm(segment));
    }
    writing = segment.by === "model";
  }
  const user = trajectory.prompt.findLast((message) => message.role === "user")!.content;
  const system = trajectory.prompt.find((message) => message.role === "system")?.content ?? false;
  return runChain(defineTask({ id: trajectory.taskId, question: user }), {
    model: scriptedModel(turns, { chunkSize: 0, tokenizer }),
    tools: recordedTools(trajectory, run, profile),
    profile,
    systemPrompt: system,
    limits: { maxCompletionTokens: 1_000_000, maxSteps: 1000, maxToolCalls: 1000 },
  });
}

/** What the comparison looks at: everything but the time a tool took (and inputs, where the tag can't say all of them). */
export function comparable(segments: readonly Segment[], withInputs = true): unknown[] {
  return segments.map(({ tag, text, by, raw, call }) => ({
    tag,
    by,
    written: raw ?? `<${tag}>${text}</${tag}>`,
    call: call && { tool: call.tool, ok: call.ok, ...(withInputs && { input: call.input }) },
  }));
}

/** Tools that know the recorded calls and nothing else; a call with other arguments fails loudly. */
function recordedTools(trajectory: Trajectory, run: TeamRun, profile: Profile): Tool[] {
  const recorded = run.steps
    .flatMap((step) => step.toolCalls)
    .filter((call) => call.result !== undefined || call.error !== undefined);
  const definitions = run.agents.flatMap((agent) => agent.tools ?? []);
  return toolTags(profile).map((tag) => {
    const calls = trajectory.segments.flatMap((segment) => (segment.call?.tool === tag.tool ? [segment.call] : []));
    const inputs = new Set(calls.map((one) => JSON.stringify(one?.input)));
    const names = new Set(
      recorded.filter((call) => inputs.has(JSON.stringify(parse(call.arguments)))).map((call) => call.name),
    );
    const definition = definitions.find((one) => one?.parameters !== undefined && names.has(one.name));
    return {
      name: tag.tool!,
      description: "recorded",
      inputSchema: expressible(definition?.parameters, tag.body.kind) as never,
      execute(input: unknown) {
        const found = recorded.find((call) => names.has(call.name) && isPartOf(input, parse(call.arguments)));
        if (!found) throw new Error(`no recorded call with ${JSON.stringify(input)}`);
        if (found.error !== undefined) throw new Error(found.error);
        return found.result;
      },
    };
  });
}

/** A body of addresses can't say anything else, so the replayed tool takes nothing else. */
function expressible(schema: unknown, body: string): unknown {
  const { properties = { query: { type: "string" } } } = (schema ?? {}) as { properties?: Record<string, unknown> };
  if (body !== "urls") return { type: "object", properties };
  const kept = Object.entries(properties).filter(([name]) => /^urls?$/.test(name));
  return { type: "object", properties: Object.fromEntries(kept) };
}

function isPartOf(part: unknown, whole: unknown): boolean {
  if (part === null || typeof part !== "object" || whole === null || typeof whole !== "object") return part === whole;
  return Object.entries(part).every(
    ([name, value]) => JSON.stringify(value) === JSON.stringify((whole as Record<string, unknown>)[name]),
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
