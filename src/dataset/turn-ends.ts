/**
 * Where several calls are allowed in one turn, the model itself ends the turn: it opens the observation instead of
 * another call. That opening tag is a decision of the model, so it is learned like the call before it; without it a
 * student never stops calling.
 */
import type { Tokenizer } from "../core/tokenizer.ts";
import { type Trajectory, writtenForm } from "../core/trajectory.ts";
import { tagSpec } from "../language/profile.ts";
import type { TokenizedTrajectory } from "./tokenize-trajectory.ts";

/** The tokens by which the model ends its turns after calls, each with the segment of the last call of the turn. */
export function turnEnds(
  { language, segments }: Pick<Trajectory, "language" | "segments">,
  tokenizer: Tokenizer,
  { tokens, owners }: Pick<TokenizedTrajectory, "tokens" | "owners">,
): { token: number; call: number }[] {
  const profile = language?.profile;
  if (!profile || profile.maxParallelCalls < 2) return [];
  const opening = `<${profile.observation}>`;
  const found: { token: number; call: number }[] = [];
  let calls = 0; // of this turn
  for (const [index, segment] of segments.entries()) {
    if (segment.by !== "tool") {
      calls = segment.by === "model" && tagSpec(profile, segment.tag)?.tool !== undefined ? calls + 1 : 0;
      continue;
    }
    // A turn that is full is ended by the runtime.
    if (calls > 0 && calls < profile.maxParallelCalls) {
      const end = Buffer.byteLength(writtenForm(segment).split(opening)[0]!) + opening.length;
      let at = 0;
      for (let token = owners.indexOf(index); token !== -1 && owners[token] === index; token++) {
        at += tokenizer.tokenBytes(tokens[token]!).length;
        if (at > end) break;
        found.push({ token, call: index - 1 });
      }
    }
    calls = 0;
  }
  return found;
}
