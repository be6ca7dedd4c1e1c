import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { testSize } from "../../test/fixtures/test-size.ts";
import { looseText } from "../core/trajectory.ts";
import { type ReadProblem, type ReadSegment, tagReader } from "./tag-reader.ts";

const tags = ["think", "plan", "web_search", "code", "answer", "observation"];
const verbatim = ["code"];
const known = { tags, verbatim };

function read(chunks: readonly string[]): { segments: ReadSegment[]; problems: ReadProblem[]; rest: string } {
  const segments: ReadSegment[] = [];
  const problems: ReadProblem[] = [];
  const reader = tagReader(known, {
    close: (segment) => void segments.push(segment),
    problem: (problem) => problems.push(problem),
  });
  for (const chunk of chunks) reader.write(chunk);
  return { segments, problems, rest: reader.end() };
}

/**
 * The slow reference: splits the whole text at known tags with a regular expression, then folds the pieces by the rules
 * in the reader's header. No streaming, no holding back.
 */
function readSlowly(input: string): { segments: ReadSegment[]; rest: string } {
  const pieces = input.split(/(<\/?(?:think|plan|web_search|code|answer|observation)>)/);
  const segments: ReadSegment[] = [];
  let current: { tag: string; text: string; lead: string; start: number } | null = null;
  let loose = "";
  let looseStart = 0;
  let position = 0;
  const endLoose = () => {
    if (loose.trim() === "") return loose;
    segments.push({ tag: looseText, text: loose, lead: "", closed: true, start: looseStart, end: position });
    return "";
  };
  const endCurrent = (closed: boolean, end: number) => {
    if (!current) return;
    segments.push({ ...current, closed, end });
    current = null;
    loose = "";
    looseStart = end;
  };
  pieces.forEach((piece, index) => {
    const name = index % 2 === 1 ? piece.replace(/[</>]/g, "") : "";
    const isClose = piece.startsWith("</");
    if (name === "" || (current?.tag === "code" && piece !== "</code>") || (isClose && current?.tag !== name)) {
      if (current) current.text += piece;
      else loose += piece;
    } else if (isClose) {
      endCurrent(true, position + piece.length);
    } else {
      endCurrent(false, position);
      const lead = endLoose();
      current = { tag: name, text: "", lead, start: position - lead.length };
    }
    position += piece.length;
  });
  endCurrent(false, position);
  return { segments, rest: endLoose() };
}

function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const atoms = [
  ...tags.flatMap((tag) => [`<${tag}>`, `</${tag}>`]),
  ..."< > / </ << <t <thin think> <plan> </plan <answer ></answer <web_ <web_search> hello \n \t é 😀 ＜think＞".split(
    " ",
  ),
  " ",
  "\n\n",
  "<think <think>",
  "<unknown>",
  "</unknown>",
  "<web_searchx>",
  "<THINK>",
  "\ud800",
  "\u00a0",
  "a < b",
  "&lt;answer&gt;",
];

describe("tagReader", () => {
  it("reads segments across any chunk border and loses no character", () => {
    const text = "  <think>a < b</think>\n<web_search>x</web_search>Sure<plan>p</plan>\n";
    const whole = read([text]);
    assert.deepEqual(
      whole.segments.map(({ tag, text, lead }) => [tag, text, lead]),
      [
        ["think", "a < b", "  "],
        ["web_search", "x", "\n"],
        ["text", "Sure", ""],
        ["plan", "p", ""],
      ],
    );
    assert.equal(whole.rest, "\n");
    assert.deepEqual(read([...text]), whole);
    assert.deepEqual(
      whole.problems.map((problem) => problem.kind),
      ["loose-text"],
    );
  });

  it("ends a forgotten tag where the next begins, and says so", () => {
    const { segments, problems } = read(["<think>search<web_search>q</web_search>c</think>"]);
    assert.deepEqual(
      segments.map(({ tag, text, closed }) => [tag, text, closed]),
      [
        ["think", "search", false],
        ["web_search", "q", true],
        ["text", "c</think>", true],
      ],
    );
    assert.deepEqual(
      problems.map((problem) => problem.kind),
      ["nested", "stray-close", "loose-text"],
    );
  });

  it("keeps tags inside code as code", () => {
    const { segments, problems } = read(['<code>print("<think></plan>")</code><answer>4']);
    assert.deepEqual(
      segments.map(({ tag, text, closed }) => [tag, text, closed]),
      [
        ["code", 'print("<think></plan>")', true],
        ["answer", "4", false],
      ],
    );
    assert.deepEqual(
      problems.map((problem) => problem.kind),
      ["unclosed"],
    );
  });

  it("agrees with a slow reference on generated input, however it is cut", () => {
    const next = random(20260);
    const inputs = testSize(60_000, 1_000_000);
    for (let round = 0; round < inputs; round++) {
      let input = "";
      const length = 1 + Math.floor(next() * 12);
      for (let index = 0; index < length; index++) input += atoms[Math.floor(next() * atoms.length)];
      const chunks: string[] = [];
      for (let from = 0; from < input.length; ) {
        const size = 1 + Math.floor(next() * (next() < 0.5 ? 3 : 20));
        chunks.push(input.slice(from, from + size));
        from += size;
      }
      const streamed = read(chunks);
      const expected = readSlowly(input);
      let written = "";
      let same = streamed.segments.length === expected.segments.length && streamed.rest === expected.rest;
      streamed.segments.forEach((segment, index) => {
        const { tag, text, lead, closed, start, end } = segment;
        written += tag === looseText ? text : `${lead}<${tag}>${text}${closed ? `</${tag}>` : ""}`;
        const other = expected.segments[index];
        same &&= tag === other?.tag && text === other.text && lead === other.lead && closed === other.closed;
        same &&= start === other?.start && end === other.end;
      });
      if (written + streamed.rest !== input) assert.fail(`lost characters of ${JSON.stringify(input)}`);
      if (!same) assert.deepEqual({ input, ...streamed, problems: [] }, { input, ...expected, problems: [] });
    }
  });

  it("says nothing of half a closing tag at which the model was cut off, and keeps it", () => {
    for (const half of ["<", "</", "</ans", "</answer"]) {
      let said = "";
      const segments: ReadSegment[] = [];
      const reader = tagReader({ tags: ["answer"] }, { text: (text) => (said += text), close: (one) => void segments.push(one) }); // biome-ignore format: one reader
      reader.write(`<answer>A${half}`);
      reader.end();
      assert.deepEqual([said, segments[0]!.text], ["A", `A${half}`]);
    }
  });
});
