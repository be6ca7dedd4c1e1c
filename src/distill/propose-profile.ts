/**
 * A profile made from what recordings hold, so that nothing has to be invented to fit them: a role is there when some run
 * plays it (no check in the recording, no check in the profile), every tool that was called has a tag of its own, thoughts
 * may be missing, and as many calls may stand side by side as were made at once.
 */
import { UsageError } from "../core/errors.ts";
import type { Profile, TagSpec, ToolDescription } from "../core/profile.ts";
import type { TeamRun } from "../core/team-run.ts";
import { callArguments } from "../language/call-body.ts";
import { readReview, readVerdict } from "../language/judgement.ts";
import { defineProfile } from "../language/profile.ts";
import { multiProfile } from "../language/profiles.ts";
import { withTools } from "../language/with-tools.ts";
import { type Move, readMoves } from "./read-moves.ts";

/** What the runs of a recording show. */
interface Seen {
  runs: number;
  plans: number;
  reviews: string[];
  verdicts: string[];
  mostAtOnce: number;
  tools: Map<string, ToolDescription>;
}

export async function proposeProfile(
  runs: Iterable<TeamRun> | AsyncIterable<TeamRun>,
  name = "recorded",
): Promise<{ profile: Profile; tools: ToolDescription[] }> {
  const seen: Seen = { runs: 0, plans: 0, reviews: [], verdicts: [], mostAtOnce: 1, tools: new Map() };
  for await (const run of runs) {
    seen.runs++;
    for (const move of readMoves(run, { parallel: true })) see(seen, run, move);
  }
  if (seen.runs === 0) throw new UsageError("no profile can be made without a run: give files with runs");
  const tools = [...seen.tools.values()];
  const purpose = "Answer the question with the tools there are, as the recorded agents did.";
  const roles = defineProfile({
    name,
    purpose,
    start: seen.plans > 0 ? ["plan", "answer"] : ["answer"],
    tags: rolesOf(seen),
    maxParallelCalls: Math.min(8, seen.mostAtOnce),
    ...(hasCheck(seen) && { suggestedAnswer: "suggested_answer" }),
  });
  return { profile: tools.length === 0 ? roles : withTools(roles, tools), tools };
}

function see(seen: Seen, run: TeamRun, move: Move): void {
  if (move.kind === "plan") seen.plans++;
  else if (move.kind === "review") seen.reviews.push(move.text);
  else if (move.kind === "verify") seen.verdicts.push(move.text);
  else if (move.kind === "calls") {
    seen.mostAtOnce = Math.max(seen.mostAtOnce, move.calls.length);
    for (const call of move.calls) {
      const known = seen.tools.get(call.name);
      if (known && known.description !== known.name) continue;
      const offered = run.agents.flatMap((agent) => agent.tools ?? []).find((tool) => tool.name === call.name);
      const inputSchema = (offered?.parameters ?? schemaOf(call.arguments)) as ToolDescription["inputSchema"];
      seen.tools.set(call.name, { name: call.name, description: offered?.description ?? call.name, inputSchema });
    }
  }
}

/** The least that a tool takes which was called like this; used where the recording does not describe the tool. */
function schemaOf(text: string): ToolDescription["inputSchema"] {
  const input = callArguments(text);
  const fields = typeof input === "string" ? { input } : ((input ?? {}) as Record<string, unknown>);
  const typeOf = (value: unknown) => (Array.isArray(value) ? "array" : typeof value);
  return {
    type: "object",
    properties: Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, { type: typeOf(value) }])),
  };
}

function hasCheck({ verdicts }: Seen): boolean {
  return verdicts.length > 0 && verdicts.every((text) => readVerdict(text).score !== null);
}

/** Roles as `multi` describes them, those that were seen, each free to follow the others. */
function rolesOf(seen: Seen): TagSpec[] {
  const given = (name: string) => multiProfile.tags.find((tag) => tag.name === name)!;
  const reflection = given("reflection");
  const rated = seen.reviews.every((text) => readReview(text, reflection).ratings !== null);
  const back = seen.plans > 0 ? ["plan"] : [];
  const later = [
    ...(seen.reviews.length > 0 ? ["reflection"] : []),
    ...(hasCheck(seen) ? ["suggested_answer"] : []),
    "answer",
  ];
  const tag = (name: string, next: string[], more: Partial<TagSpec> = {}): TagSpec => ({
    ...given(name),
    think: "optional",
    next,
    ...more,
  });
  return [
    ...(seen.plans > 0 ? [tag("plan", ["plan", ...later])] : []),
    ...(seen.reviews.length > 0
      ? [tag("reflection", [...back, ...later], rated ? {} : { body: { kind: "text" }, job: "Look back on the work." })]
      : []),
    ...(hasCheck(seen)
      ? [tag("suggested_answer", ["double_check", ...back, "answer"]), tag("double_check", [...back, ...later])]
      : []),
    tag("answer", []),
  ];
}
