/** Replays a distilled chain through the real runtime: the model says what the chain says, the tools say what was recorded. */
import { runChain } from "../../src/chain/run-chain.ts";
import type { Profile } from "../../src/core/profile.ts";
import { toolTags } from "../../src/core/profile.ts";
import { defineTask } from "../../src/core/task.ts";
import type { TeamRun } from "../../src/core/team-run.ts";
import type { Tool } from "../../src/core/tool.ts";
import { type Segment, type Trajectory, writtenForm } from "../../src/core/trajectory.ts";
import { scriptedModel } from "../../src/testing/scripted-model.ts";

/** The trajectory that the runtime makes of a chain's own words and the run's recorded results. */
export async function replayChain(trajectory: Trajectory, run: TeamRun, profile: Profile): Promise<Trajectory> {
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
    model: scriptedModel(turns, { chunkSize: 0 }),
    tools: recordedTools(trajectory, run, profile),
    profile,
    systemPrompt: system,
    layout: "compact",
    limits: { maxObservationTokens: 1_000_000 },
  } as never);
}

/** What the comparison looks at: everything but the time a tool took. */
export function comparable(segments: readonly Segment[]): unknown[] {
  return segments.map(({ tag, text, by, raw, call }) => ({
    tag,
    by,
    written: raw ?? `<${tag}>${text}</${tag}>`,
    call: call && { tool: call.tool, input: call.input, ok: call.ok },
  }));
}

/** Tools that know the recorded calls and nothing else; a call with other arguments fails loudly. */
function recordedTools(trajectory: Trajectory, run: TeamRun, profile: Profile): Tool[] {
  const recorded = run.steps.flatMap((step) => step.toolCalls);
  const definitions = run.agents.flatMap((agent) => agent.tools ?? []);
  return toolTags(profile).map((tag) => {
    const calls = trajectory.segments.flatMap((segment) => (segment.call?.tool === tag.tool ? [segment.call] : []));
    const inputs = new Set(calls.map((one) => JSON.stringify(one?.input)));
    const made = recorded.filter((call) => inputs.has(JSON.stringify(parse(call.arguments))));
    const names = new Set(made.map((call) => call.name));
    const definition = definitions.find((one) => one?.parameters !== undefined && names.has(one.name));
    return {
      name: tag.tool!,
      description: "recorded",
      inputSchema: (definition?.parameters ?? { type: "object", properties: { query: { type: "string" } } }) as never,
      execute(input: unknown) {
        const found = recorded.find(
          (call) =>
            JSON.stringify(parse(call.arguments)) === JSON.stringify(input) &&
            (call.result !== undefined || call.error !== undefined),
        );
        if (!found) throw new Error(`no recorded call with ${JSON.stringify(input)}`);
        if (found.error !== undefined) throw new Error(found.error);
        return found.result;
      },
    };
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
