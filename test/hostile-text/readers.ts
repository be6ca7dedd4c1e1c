/** Everything in the tree that reads foreign text, each as one function of a text. */
import { redactSecrets } from "../../src/base/redact/redact.ts";
import { parseRelaxedJson } from "../../src/base/text/relaxed-json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { extractCode } from "../../src/graders/code/grade-code.ts";
import { gradeGaia } from "../../src/graders/grade-gaia.ts";
import { gradeQa } from "../../src/graders/grade-qa.ts";
import { readAny } from "../../src/graders/judges/judges.ts";
import { gradeMath } from "../../src/graders/math/grade-math.ts";
import { inReferenceForm } from "../../src/graders/reward.ts";
import { readCallBody, writeCallBody } from "../../src/language/call-body.ts";
import { readReview, readVerdict } from "../../src/language/judgement.ts";
import { neutraliser } from "../../src/language/neutralise.ts";
import { tagNames, tagSpec } from "../../src/language/profile.ts";
import { builtInProfiles, multiProfile } from "../../src/language/profiles.ts";
import { tagReader } from "../../src/language/tag-reader.ts";
import { bodyProblem } from "../../src/language/validate.ts";
import { readProgram } from "../../src/tools/code.ts";
import { extractArticle } from "../../src/tools/crawl/extract-article.ts";
import { htmlToMarkdown } from "../../src/tools/crawl/html-to-markdown.ts";
import { benchmarkBlocklist, blocklist, withoutUrls } from "../../src/tools/search/blocklist.ts";

const signal = new AbortController().signal;
const tags = tagNames(multiProfile);
const neutralise = neutraliser(tags);
const tool = (properties: Record<string, { type: string }>): Tool => ({
  name: "t",
  description: "",
  inputSchema: { type: "object", properties },
  execute: () => "",
});
/** One tag for each kind of body. */
const bodies = [
  ...new Map(
    Object.values(builtInProfiles)
      .flatMap((profile) => profile.tags)
      .map((tag) => [tag.body.kind, tag]),
  ).values(),
];
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
export const readers: Record<string, (text: string) => unknown> = {
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
