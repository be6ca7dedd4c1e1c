import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../../test/fixtures/conformance/byte-tokenizer.ts";
import { chainRules } from "../../../test/fixtures/grammar/chain-rules.ts";
import { testSize } from "../../../test/fixtures/test-size.ts";
import type { Segment } from "../../core/trajectory.ts";
import { advance, type ChainState, type Profile, startState, tagNames, toolTags } from "../profile.ts";
import { builtInProfiles, codeProfile, multiProfile, webProfile } from "../profiles.ts";
import { tagReader } from "../tag-reader.ts";
import { validateSegments } from "../validate.ts";
import { type AutomatonState, byteAutomaton, utf8Ranges } from "./byte-automaton.ts";
import { type Expression, plainRanges, type RuleSet } from "./rules.ts";
import { afterToken, allowedTokens, tokenAutomaton } from "./token-mask.ts";

function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state ^ (state >>> 13)) >>> 0) / 4294967296;
  };
}

/** A random text of the language, drawn from the rules themselves. */
function draw(set: RuleSet, next: () => number): string {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)]!;
  const from = (expression: Expression): string => {
    switch (expression.kind) {
      case "literal":
      case "marker":
        return expression.text;
      case "sequence":
        return expression.parts.map(from).join("");
      case "choice":
        return from(pick(expression.options));
      case "star": {
        let text = "";
        while (next() < 0.75 && text.length < 40) text += from(expression.inner);
        return text;
      }
      case "rule":
        return from(set.rules.get(expression.name)!);
      default: {
        const ranges = plainRanges(expression);
        const printable = ranges.filter(([first, last]) => last >= 32 && first < 127);
        const [first, last] = pick(next() < 0.8 && printable.length > 0 ? printable : ranges);
        const low = next() < 0.8 ? Math.max(first, Math.min(32, last)) : first;
        const high = next() < 0.8 ? Math.min(last, Math.max(low, 126)) : last;
        return String.fromCodePoint(low + Math.floor(next() * (high - low + 1)));
      }
    }
  };
  return from(set.rules.get(set.start)!);
}

const automata = new WeakMap<RuleSet, AutomatonState>();

function accepts(set: RuleSet, text: string): boolean {
  if (!automata.has(set))
    automata.set(
      set,
      byteAutomaton(set, () => undefined),
    );
  let state = automata.get(set)!;
  for (const byte of new TextEncoder().encode(text)) {
    const next = state.next(byte);
    if (!next) return false;
    state = next;
  }
  return state.accepting;
}

function segmentsOf(profile: Profile, text: string): Segment[] {
  const segments: Segment[] = [];
  const verbatim = profile.tags.filter((tag) => tag.body.kind === "code").map((tag) => tag.name);
  const reader = tagReader(
    { tags: tagNames(profile), verbatim },
    { close: ({ tag, text }) => void segments.push({ tag, text, by: "model" }) },
  );
  reader.write(text);
  reader.end();
  return segments;
}

/** A whole chain: turns drawn from the grammar, observations after calls, until the answer or too many turns. */
function drawChain(profile: Profile, next: () => number): Segment[] {
  for (;;) {
    const chain: Segment[] = [];
    let state: ChainState = startState();
    for (let turn = 0; turn < 12 && !state.ended; turn++) {
      const text = draw(chainRules(profile, state), next);
      for (const segment of segmentsOf(profile, text)) {
        chain.push(segment);
        state = advance(profile, state, segment);
      }
      while (state.openCalls > 0) {
        const observation: Segment = { tag: profile.observation, text: "found", by: "tool" };
        chain.push(observation);
        state = advance(profile, state, observation);
      }
    }
    if (state.ended) return chain;
  }
}

const rounds = testSize(75, 300);

describe("the decoding grammar", () => {
  it("writes only chains that the validator accepts, and the automaton reads what the rules write", () => {
    for (const profile of Object.values(builtInProfiles)) {
      const next = random(7 + profile.name.length);
      for (let round = 0; round < rounds / 4; round++) {
        const chain = drawChain(profile, next);
        assert.deepEqual(validateSegments(profile, chain), [], JSON.stringify(chain));
      }
      const rules = chainRules(profile, startState());
      for (let round = 0; round < rounds / 4; round++) {
        const text = draw(rules, next);
        assert.ok(accepts(rules, text), JSON.stringify(text));
        assert.ok(!accepts(rules, `${text}x`), "nothing may follow the end of the turn");
      }
    }
  });

  it("lets no mutation of a good chain pass: the validator names the rule", () => {
    const next = random(99);
    const seen = new Set<string>();
    for (const profile of Object.values(builtInProfiles)) {
      for (let round = 0; round < rounds / 3; round++) {
        const chain = drawChain(profile, next);
        const { mutated, expected } = mutate(profile, chain, next);
        if (!mutated) continue;
        const rules = validateSegments(profile, mutated).map((violation) => violation.rule);
        assert.ok(
          rules.some((rule) => expected.test(rule)),
          `${expected} not in ${rules}: ${JSON.stringify(mutated)}`,
        );
        seen.add(expected.source);
      }
    }
    assert.ok(seen.size >= 8, [...seen].join(" "));
  });

  it("keeps the gates inside", () => {
    const start = (segments: [string, string][]) =>
      segments.reduce((state, [tag, text]) => advance(webProfile, state, { tag, text }), startState());
    const checked = start([["suggested_answer", "x"]]);
    const rules = chainRules(webProfile, { ...checked, thought: true });
    const scored = (score: number) => `<double_check>The score this time is:${score}</double_check><answer>x</answer>`;
    assert.deepEqual(
      [1, 2, 3, 4].map((score) => accepts(rules, scored(score))),
      [false, false, true, true],
    );
    assert.ok(!accepts(rules, scored(5)));
    const reflecting = chainRules(webProfile, {
      ...start([
        ["web_search", "x"],
        ["observation", "y"],
      ]),
      thought: true,
    });
    const rated = (value: string, then: string) =>
      `<reflection>information_conflict : Good\ntool_effectiveness : ${value}\ntrajectory_monitoring : Good</reflection>${then}`;
    const search = "<think>a</think><web_search>b</web_search>";
    const plan = "<think>a</think><plan>b</plan>";
    assert.ok(accepts(reflecting, rated("Fair", search)));
    assert.ok(!accepts(reflecting, rated("Poor", search)));
    assert.ok(accepts(reflecting, rated("Poor", plan + search)));
  });

  it("allows programs with angle brackets but no tags", () => {
    const rules = chainRules(codeProfile, { ...startState(), last: "plan", thought: true, counts: { plan: 1 } });
    const program = (code: string) => `<code>\`\`\`py\n${code}\n\`\`\`</code>`;
    assert.ok(accepts(rules, program("if a<b: print('<div>', `x`)")));
    assert.ok(accepts(rules, program("print(input())").replace("</code>", "\n```sh\n4\n```</code>")));
    assert.ok(accepts(rules, program("print('<thinker>')")));
    for (const bad of ["print('<think>')", "print('</b>')", "x = '''```'''", "  ", "print('<answer >')"]) {
      assert.ok(!accepts(rules, program(bad)), bad);
    }
  });

  it("masks tokens so that whatever is sampled is a good chain, with special tags and without", () => {
    for (const profile of [webProfile, multiProfile, codeProfile]) {
      for (const specials of [true, false]) {
        const tags = tagNames(profile).flatMap((tag) => [`<${tag}>`, `</${tag}>`]);
        const tokenizer = byteTokenizer([...(specials ? tags : []), "<|other|>"]);
        const next = random(5);
        for (let round = 0; round < testSize(1, 4); round++) {
          let state = tokenAutomaton(chainRules(profile, startState()), tokenizer);
          const tokens: number[] = [];
          const stops = toolTags(profile).map((tag) => `</${tag.name}>`);
          for (let text = ""; !stops.some((stop) => text.endsWith(stop)) && !text.endsWith("</answer>"); ) {
            const allowed = allowedTokens(state, tokenizer);
            assert.ok(allowed.length > 0);
            assert.ok(!allowed.includes(tokenizer.specialToken("<|other|>")!));
            // Mostly towards the end of a body, or no chain would ever end.
            const closing = allowed.filter((token) => token > 256 || token === 60 || token === 47 || token === 96);
            const pool = closing.length > 0 && next() < 0.6 ? closing : allowed;
            const token = pool[Math.floor(next() * pool.length)]!;
            const after = afterToken(state, token, tokenizer);
            assert.ok(after, "an allowed token leads somewhere");
            state = after;
            tokens.push(token);
            text = tokenizer.decode(tokens.slice(-24));
          }
          const chain = segmentsOf(profile, tokenizer.decode(tokens));
          assert.deepEqual(validateSegments(profile, chain, { partial: true }), []);
        }
      }
    }
  });

  it("agrees with a plain check of every token", () => {
    const tokenizer = byteTokenizer(["<think>", "</think>"]);
    let state = tokenAutomaton(chainRules(webProfile, startState()), tokenizer);
    for (const token of tokenizer.encodeWithSpecials("<think>a < b, é</think>\n<pl")) {
      const plain = Array.from({ length: tokenizer.vocabularySize }, (_, id) => id).filter((id) =>
        afterToken(state, id, tokenizer),
      );
      assert.deepEqual(
        allowedTokens(state, tokenizer).toSorted((a, b) => a - b),
        plain,
      );
      state = afterToken(state, token, tokenizer)!;
    }
  });

  it("splits code points into UTF-8 byte ranges exactly", () => {
    const next = random(3);
    for (let round = 0; round < 200; round++) {
      const points = [next() * 0xd7ff, next() * 0xd7ff, 0xe000 + next() * 0x101fff, 0xe000 + next() * 0x101fff].map(
        Math.floor,
      );
      const pair = (round % 2 ? points.slice(0, 2) : points.slice(2)).toSorted((a, b) => a - b) as [number, number];
      const sequences = utf8Ranges(...pair);
      const inside = (point: number) => {
        const bytes = new TextEncoder().encode(String.fromCodePoint(point));
        return sequences.some(
          (ranges) => ranges.length === bytes.length && ranges.every(([a, b], i) => a <= bytes[i]! && bytes[i]! <= b),
        );
      };
      for (const point of [pair[0], pair[1], Math.floor((pair[0] + pair[1]) / 2)]) assert.ok(inside(point));
      if (pair[0] > 0 && pair[0] !== 0xe000) assert.ok(!inside(pair[0] - 1));
      if (pair[1] < 0xd7ff || (pair[1] > 0xe000 && pair[1] < 0x10ffff)) assert.ok(!inside(pair[1] + 1));
    }
  });
});

/** Breaks a good chain in one place; says which rule must be named. */
function mutate(profile: Profile, chain: Segment[], next: () => number): { mutated?: Segment[]; expected: RegExp } {
  const at = (test: (segment: Segment, index: number) => boolean) => {
    const places = chain.flatMap((segment, index) => (test(segment, index) ? [index] : []));
    return places[Math.floor(next() * places.length)];
  };
  const changed = (index: number | undefined, expected: RegExp, ...replacement: Segment[]) =>
    index === undefined ? { expected } : { mutated: chain.toSpliced(index, 1, ...replacement), expected };
  const needsThink = (segment?: Segment) =>
    profile.tags.some((tag) => tag.name === segment?.tag && tag.think === "required");
  const any = at((segment) => segment.by === "model")!;
  const segment = chain[any]!;
  switch (Math.floor(next() * 10)) {
    case 0:
      return changed(
        at((s, i) => s.tag === profile.think && chain[i - 1]?.tag !== s.tag && needsThink(chain[i + 1])),
        /^think-missing$/,
      );
    case 1:
      return changed(
        at((s) => s.by === "tool"),
        /^observation-missing$/,
      );
    case 2:
      return changed(any, /^empty-body$/, { ...segment, text: " \n" });
    case 3:
      return changed(any, /^tag-in-text$/, { ...segment, text: `${segment.text} </${profile.answer}>` });
    case 4:
      return { mutated: [...chain, chain.at(-1)!], expected: /^after-answer$/ };
    case 5:
      return { mutated: chain.slice(0, -1), expected: /^answer-missing$/ };
    case 6:
      return changed(
        at((s) => s.by === "tool"),
        /^author$/,
        { tag: profile.observation, text: "made up", by: "model" },
      );
    case 7:
      return changed(
        at((s) => s.tag === "double_check" && /[34]\s*$/.test(s.text) && chain.at(-2) === s),
        /^gate-double_check$/,
        {
          tag: "double_check",
          text: "The score this time is:2",
          by: "model",
        },
      );
    case 8:
      return {
        mutated: [{ tag: profile.answer, text: "x", by: "model" }, ...chain],
        expected: /^(?:start|think-missing)$/,
      };
    default:
      return changed(any, /^unknown-tag$/, { ...segment, tag: "dance" });
  }
}
