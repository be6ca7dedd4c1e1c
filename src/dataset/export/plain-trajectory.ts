/**
 * Another trainer tokenises a text again, and there every special string in it becomes a special token. So what is exported as
 * text holds none: the tags of the chain itself are all the structure that is left.
 */
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { plainFor } from "../../language/observation.ts";
import { tagNames } from "../../language/profile.ts";

/** Makes the function that takes special tokens out of chains: those of the tokenizer, where one is given. */
export function plainTrajectories(tokenizer: Tokenizer | undefined): (trajectory: Trajectory) => Trajectory {
  const known = new Map<string, (text: string) => string>();
  return (trajectory) => {
    const { language, segments, prompt } = trajectory;
    const kept = language ? tagNames(language.profile) : [...new Set(segments.map(({ tag }) => tag))];
    const key = kept.join(" ");
    const plain = known.get(key) ?? plainFor({ tokenizer }, kept);
    known.set(key, plain);
    return {
      ...trajectory,
      prompt: prompt.map((message) => ({ ...message, content: plain(message.content) })),
      segments: segments.map((segment) => ({
        ...segment,
        text: plain(segment.text),
        ...(segment.raw !== undefined && { raw: plain(segment.raw) }),
      })),
    };
  };
}
