/**
 * Hostile text must cost linear time wherever foreign text is read: an attacker's page, a model's endless answer, a
 * body that passes through the recorder. Texts are generated (a start, a motif repeated, an end) and each reader is given
 * one size and four times that size, up to 1 MB: the processor time may grow at most sixfold. Growth, not time, and the
 * best of several tries, so that a slow or busy machine changes nothing.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { redactSecrets } from "../src/base/redact/redact.ts";
import type { Tool } from "../src/core/tool.ts";
import { extractCode } from "../src/graders/code/grade-code.ts";
import { gradeGaia } from "../src/graders/grade-gaia.ts";
import { gradeQa } from "../src/graders/grade-qa.ts";
import { readAny } from "../src/graders/judges/read-verdict.ts";
import { gradeMath } from "../src/graders/math/grade-math.ts";
import { inReferenceForm } from "../src/graders/reward.ts";
import { readCallBody, writeCallBody } from "../src/language/call-body.ts";
import { readReview, readVerdict } from "../src/language/judgement.ts";
import { neutraliser } from "../src/language/neutralise.ts";
import { tagNames, tagSpec } from "../src/language/profile.ts";
import { builtInProfiles, multiProfile } from "../src/language/profiles.ts";
import { parseRelaxedJson } from "../src/language/relaxed-json.ts";
import { tagReader } from "../src/language/tag-reader.ts";
import { bodyProblem } from "../src/language/validate.ts";
import { readProgram } from "../src/tools/code.ts";
import { extractArticle } from "../src/tools/crawl/extract-article.ts";
import { htmlToMarkdown } from "../src/tools/crawl/html-to-markdown.ts";
import { benchmarkBlocklist, blocklist, withoutUrls } from "../src/tools/search/blocklist.ts";

const signal = new AbortController().signal;
const tags = tagNames(multiProfile);
const neutralise = neutraliser(tags);
const tool = (properties: Record<string, { type: string }>): Tool => ({
  name: "t",
  description: "",
  inputSchema: { type: "object", properties },
  execute: () => "",
});
const bodies = Object.values(builtInProfiles).flatMap((profile) => profile.tags.map((tag) => tag));
const search = tool({ query: { type: "string" } });
const pages = tool({ urls: { type: "array" } });
const code = tool({ code: { type: "string" }, stdin: { type: "string" } });
const quiet = (work: () => unknown) => {
  try {
    return work();
  } catch {
    return undefined; // refusing is fine, as long as it is quick
  }
};

/** Everything that reads foreign text. */
const readers: Record<string, (text: string) => unknown> = {
  "redaction of a text": (text) => redactSecrets(text),
  "redaction of a field": (text) => redactSecrets({ arguments: text, list: [text.slice(0, 10)] }),
  neutralising: neutralise,
  "tag reading": (text) => {
    const reader = tagReader({ tags, verbatim: ["code"] }, { close: () => {} });
    reader.write(text);
    reader.end();
  },
  "tag reading in small pieces": (text) => {
    const reader = tagReader({ tags }, { close: () => {} });
    for (let at = 0; at < text.length; at += 7) reader.write(text.slice(at, at + 7));
    reader.end();
  },
  "relaxed JSON": (text) => quiet(() => parseRelaxedJson(text)),
  "relaxed JSON in a list": (text) => quiet(() => parseRelaxedJson(`['${text}', ${text}]`)),
  "HTML to Markdown": (text) => htmlToMarkdown(text),
  "HTML article": (text) => extractArticle(`<html><body><article>${text}</article></body></html>`),
  "HTML page with many links": (text) => extractArticle(`<body><a href="/x">${"link ".repeat(300)}</a>${text}</body>`),
  "a math answer": (text) => gradeMath(["\\frac{1}{2}"], text),
  "a math formula": (text) => gradeMath(["\\frac{1}{2}"], `The answer is $${text}$ so \\boxed{${text}}`),
  "a plain answer": (text) => [
    gradeQa(["one"], text),
    gradeGaia(["1, 2", "3"], text),
    inReferenceForm(`<code>${text}</code>`),
  ],
  "the body of a search": (text) => readCallBody(tagSpec(multiProfile, "web_search")!, search, text),
  "the body of a crawl": (text) => readCallBody(tagSpec(multiProfile, "crawl_page")!, pages, text),
  "the body of a program": (text) => readCallBody(tagSpec(multiProfile, "code")!, code, text),
  "writing a body": (text) => bodies.map((tag) => writeCallBody(tag, text)),
  "checking a body": (text) => bodies.map((tag) => bodyProblem(tag.body, text)),
  "reading a program": (text) => [readProgram(text), extractCode(text)],
  "reading a judgement": (text) => [readVerdict(text), readAny(text), bodies.map((tag) => readReview(text, tag))],
  "a blocklist": (text) => blocklist(benchmarkBlocklist).refusal(text),
  "results without blocked pages": (text) =>
    withoutUrls([{ ...search, execute: () => `${text} huggingface.co` }])[0]!.execute({}, { signal }),
};

const motifs = [
  "<", " ", "< ", "<<", "</", "<|", "|", "\n", "\n ", "\t", "a", "a ", "a_", "a-", "1", "1,", "1.", "1e", "-", "--", "/", "//", "/*", "#", "[", "]",
  "{", "}", "[{", "{'a':", "(", ")", "((", "\"", "'", "\\", "\\\"", "`", "```", "```\n", "~~~", "&", "&amp;", "&lt;", "&#", "%25", "%", "=", "a=", ":", "a:b@",
  "://", "http://", "http://a.b ", "www.", "a.", ".", ",", ";", "*", "**", "_", "!", "![", "](", "<a ", "<a href=\"", "<a href=x>", "<p>", "<div>",
  "<!--", "<![CDATA[", "<script>", "<table><tr><td>", "<li>", "<b>", "</p>", "<answer", "<answer>", "</answer>", "<think>x</think>", "<code>", "< answer ",
  "＜", "\u200b", "é", "😀", "\ud83d", "sk-", "sk-a", "eyJ", "eyJ-", "eyJa.", "Bearer ", "-----BEGIN PRIVATE KEY-----", "-----END", "token=", "cookie:",
  "$", "$$", "\\(", "\\boxed{", "\\frac{", "\\frac12", "\\sqrt", "\\text{", "\\left(", "^", "_{", "\\le ", "x=", "1+", "x", "\\cup", "\\{", "1 1/2 ",
  "score ", "score 1", "data:", "data: x\n\n", "True", "\r\n",
]; // biome-ignore format: a list

const starts = ["", "<", "```json\n", '{"a": "', "<answer", "[", "/*", "$", "\\boxed{", "-----BEGIN PRIVATE KEY-----"];
const ends = ["", "!", ">", "}", "\n```", '"]'];

/** A text of one size: the motif repeated, with a start and an end that change from one motif to the next. */
function hostileText(at: number, salt: number, size: number): string {
  const motif = motifs[at]!;
  const start = starts[(at * 7 + salt) % starts.length]!;
  const end = ends[(at * 5 + salt) % ends.length]!;
  return start + motif.repeat(Math.ceil(size / motif.length)).slice(0, size) + end;
}

async function processorMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** Less than this is lost in the noise of compiling and collecting. */
const leastMs = 12;

/** Whether four times the text costs at most six times the processor time, in the best of several tries. */
async function growsLinearly(
  read: (text: string) => unknown,
  small: string,
  large: string,
): Promise<string | undefined> {
  let [least, leastLarge] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let tries = 0; tries < 6; tries++) {
    least = Math.min(least, await processorMs(() => read(small)));
    leastLarge = Math.min(leastLarge, await processorMs(() => read(large)));
    if (leastLarge <= 6 * Math.max(least, leastMs)) return undefined;
  }
  return `${small.length} characters ${least.toFixed(0)} ms, ${large.length} characters ${leastLarge.toFixed(0)} ms`;
}

/** At full size every motif goes up to 1 MB with every start and end; otherwise all go to 64 kB and one in sixteen to 1 MB. */
// Every motif up to 1 MB: known to fail for neutralising, relaxed JSON and HTML to Markdown (SECURITY.md), so asked for by name.
const full = process.env["COA_LINEAR"] === "full";
const sizes = [16_000, 64_000, 256_000, 1_000_000];

describe("processor time on hostile text", () => {
  for (const [name, read] of Object.entries(readers)) {
    it(`grows with the length of the text and no faster: ${name}`, async () => {
      for (let salt = 0; salt < (full ? 4 : 1); salt++) {
        for (const [at, motif] of motifs.entries()) {
          const steps = full || (at + name.length) % 16 === 0 ? sizes : sizes.slice(0, 2);
          for (const [step, size] of steps.slice(0, -1).entries()) {
            const texts = [size, steps[step + 1]!].map((length) => hostileText(at, salt, length));
            const problem = await growsLinearly(read, texts[0]!, texts[1]!);
            assert.equal(problem, undefined, `${JSON.stringify(motif)} repeated: ${problem}`);
          }
        }
      }
    });
  }
});
