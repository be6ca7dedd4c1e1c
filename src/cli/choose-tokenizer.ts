/** The tokenizer of a dataset: the model's own, or one trained on the chains. */
import { UsageError } from "../core/errors.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { type Trajectory, trajectoryText } from "../core/trajectory.ts";
import { tagTokens } from "../language/profile.ts";
import { builtInProfiles } from "../language/profiles.ts";
import { loadTokenizer } from "../tokenizers/load-tokenizer.ts";
import { trainTokenizer } from "../tokenizers/train-tokenizer.ts";

/** Loads the folder's tokenizer, or trains one of this size; the tags of the chains' own profiles are single tokens. */
export async function chooseTokenizer(
  folder: string | undefined,
  vocabularySize: number | undefined,
  trajectories: () => AsyncIterable<Trajectory>,
): Promise<Tokenizer> {
  if (folder !== undefined) return loadTokenizer(folder);
  if (vocabularySize === undefined) {
    throw new UsageError("give the model's tokenizer with --tokenizer <folder>, or train one with --vocabulary <size>");
  }
  const texts: string[] = [];
  const profiles = new Map(Object.values(builtInProfiles).map((profile) => [JSON.stringify(profile), profile]));
  for await (const trajectory of trajectories()) {
    const own = trajectory.language?.profile;
    if (own) profiles.set(JSON.stringify(own), own);
    texts.push(trajectoryText(trajectory.segments), ...trajectory.prompt.map((message) => ` ${message.content}`));
    if (texts.length > 20_000) break; // more text changes the merges no more
  }
  return trainTokenizer(texts, { vocabularySize, specialTokens: tagTokens([...profiles.values()]) });
}
