/**
 * What the team knows while it works. The working memory holds every delegation of the run with its tool calls and
 * report; reflector and verifier are shown it. The long-term memory stays after the run: steps of earlier runs, found
 * by similarity (cosine of word counts, rare words weighing more), so that a similar step can use them.
 */

/** One delegation: who did what, with which calls, and what came of it. */
export interface MemoryEntry {
  member: string;
  task: string;
  calls: { tool: string; input: string; output: string }[];
  report: string;
  failed: boolean;
}

/** The work so far as text, newest last; long outputs and reports lose their middle. */
export function describeWork(
  entries: readonly MemoryEntry[],
  outputCharacters = 4_000,
  reportCharacters = 4_000,
): string {
  if (entries.length === 0) return "Nothing has been done yet.";
  return entries
    .map((entry, index) =>
      [
        `## Step ${index + 1}: ${entry.member}`,
        `Task: ${entry.task}`,
        ...entry.calls.map((call) => `### ${call.tool} ${call.input}\n${clip(call.output, outputCharacters)}`),
        `Report: ${clip(entry.report, reportCharacters)}`,
      ].join("\n"),
    )
    .join("\n\n");
}

/** Keeps both ends of a long text. */
export function clip(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const half = Math.floor(characters / 2);
  return `${text.slice(0, half)} … ${text.length - 2 * half} characters left out … ${text.slice(-half)}`;
}

/** A past step worth remembering beyond its run. */
export interface PastStep {
  question: string;
  task: string;
  report: string;
  /** Whether the run it belonged to ended with an answer its verifier accepted. */
  accepted?: boolean;
}

/** Memory that stays after a run; pass the same one to many runs. */
export interface LongTermMemory {
  readonly size: number;
  remember(step: PastStep): void;
  /** The steps most similar to the text, best first; none below the similarity asked for. */
  recall(text: string, count?: number, minSimilarity?: number): { step: PastStep; similarity: number }[];
}

/** A long-term memory, empty or with earlier steps; the oldest are forgotten beyond `capacity`. */
export function createLongTermMemory(steps: Iterable<PastStep> = [], capacity = 10_000): LongTermMemory {
  const kept: { step: PastStep; words: Map<string, number> }[] = [];
  const documents = new Map<string, number>();
  const remember = (step: PastStep): void => {
    const words = wordCounts(`${step.question} ${step.task}`);
    for (const word of words.keys()) documents.set(word, (documents.get(word) ?? 0) + 1);
    kept.push({ step, words });
    if (kept.length <= capacity) return;
    for (const word of kept.shift()!.words.keys()) documents.set(word, documents.get(word)! - 1);
  };
  for (const step of steps) remember(step);
  const weigh = (words: Map<string, number>): Map<string, number> =>
    new Map(
      [...words].map(([word, count]) => [
        word,
        count * Math.log(1 + (kept.length + 1) / (1 + (documents.get(word) ?? 0))),
      ]),
    );
  return {
    get size() {
      return kept.length;
    },
    remember,
    recall(text, count = 1, minSimilarity = 0.2) {
      const wanted = weigh(wordCounts(text));
      return kept
        .map(({ step, words }) => ({ step, similarity: cosine(wanted, weigh(words)) }))
        .filter(({ similarity }) => similarity >= minSimilarity)
        .sort((a, b) => b.similarity - a.similarity)
        .slice(0, count);
    },
  };
}

function wordCounts(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function cosine(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  let product = 0;
  for (const [word, weight] of a) product += weight * (b.get(word) ?? 0);
  const norm = (weights: ReadonlyMap<string, number>) => Math.hypot(...weights.values());
  return product === 0 ? 0 : product / (norm(a) * norm(b));
}
