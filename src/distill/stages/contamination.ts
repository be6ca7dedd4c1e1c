/**
 * Keeps evaluation out of training. A trajectory is dropped when it works on a question of an evaluation set (most of
 * that question's word sequences are in its own question), when such a question is in what was read or written, or when
 * a blocked address was searched, read or cited.
 */
import type { Stage } from "./stage.ts";
import { gramsOf, wordsOf } from "./word-grams.ts";

interface IndexedQuestion {
  text: string;
  grams: number;
  /** Words that few questions have: the names. Questions of one template share everything else. */
  rare: string[];
}

/** Words of a sequence; a shorter question must be found whole. */
const size = 8;
/** Share of a question's sequences that must be found, and of its rare words. */
const share = 0.8;
const rareShare = 0.6;

/** Drops trajectories that touch an evaluation set. */
export function contaminationStage({
  questions: asked = [],
  blockedUrls = [],
}: {
  questions?: readonly string[];
  blockedUrls?: readonly string[];
} = {}): Stage {
  const texts = new Map(asked.map((text) => [wordsOf(text).join(" "), text]));
  texts.delete("");
  const rareOf = rareWords([...texts.keys()]);
  const questions: IndexedQuestion[] = [];
  const indexes = new Map<number, Map<number, number[]>>(); // words of a sequence -> gram -> questions
  for (const [joined, text] of texts) {
    const words = joined.split(" ");
    const grams = new Set(gramsOf(words, size));
    const number = questions.push({ text, grams: grams.size, rare: rareOf(words) }) - 1;
    const length = Math.min(size, words.length);
    const index = indexes.get(length) ?? new Map<number, number[]>();
    indexes.set(length, index);
    for (const gram of grams) {
      const there = index.get(gram);
      if (there) there.push(number);
      else index.set(gram, [number]);
    }
  }
  const blocked = blockedUrls.map((url) => plainUrl(url));

  function findQuestion(words: readonly string[]): string | undefined {
    const hits = new Map<number, number>();
    for (const [length, index] of indexes) {
      if (words.length < length) continue;
      for (const gram of new Set(gramsOf(words, length)))
        for (const number of index.get(gram) ?? []) hits.set(number, (hits.get(number) ?? 0) + 1);
    }
    let own: Set<string> | undefined;
    for (const [number, count] of hits) {
      const { grams, rare, text } = questions[number]!;
      if (count / grams < share) continue;
      own ??= new Set(words);
      if (rare.filter((word) => own!.has(word)).length >= rare.length * rareShare) return text;
    }
    return undefined;
  }

  return {
    name: "contamination",
    judge(trajectory, { run }) {
      const own = trajectory.prompt.filter((message) => message.role === "user").map((message) => message.content);
      const asked = findQuestion(wordsOf(own.join("\n")));
      if (asked !== undefined) return { reason: "evaluation question", detail: excerpt(asked) };
      for (const [index, segment] of trajectory.segments.entries()) {
        const leaked = questions.length > 0 ? findQuestion(wordsOf(segment.text)) : undefined;
        if (leaked !== undefined)
          return { reason: "evaluation question in the chain", detail: `segment ${index}: ${excerpt(leaked)}` };
        const url = blocked.find((one) => plainUrl(segment.text).includes(one));
        if (url !== undefined) return { reason: "blocked address", detail: `segment ${index}: ${url}` };
      }
      const source = run?.question === undefined ? undefined : findQuestion(wordsOf(run.question));
      return source === undefined ? null : { reason: "evaluation question", detail: excerpt(source) };
    },
  };
}

/** Finds the words of a question that at most one in a hundred questions has. */
function rareWords(questions: readonly string[]): (words: readonly string[]) => string[] {
  const counts = new Map<string, number>();
  for (const question of questions) {
    for (const word of new Set(question.split(" "))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const most = Math.max(1, questions.length / 100);
  return (words) => [...new Set(words)].filter((word) => (counts.get(word) ?? 0) <= most);
}

function plainUrl(text: string): string {
  return text.toLowerCase().replaceAll(/https?:\/\/(?:www\.)?/g, "");
}

function excerpt(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
