/**
 * The built-in profiles. Four are as the paper's models use them: `web` (search and crawl with verification), `mhqa`
 * (multi-hop questions over one corpus), `code` (programs for code and math), `multi` (everything, images too). `wide` is
 * `multi` with several calls in one turn.
 */
import type { BodyFormat, Gate, ObservationStyle, Profile, TagSpec } from "../core/profile.ts";
import { defaultStyle, defineProfile } from "./profile.ts";

const text: BodyFormat = { kind: "text" };

/** The three questions a reflection answers about the work so far. */
export const reflectionCriteria = ["information_conflict", "tool_effectiveness", "trajectory_monitoring"] as const;

const ratings: BodyFormat = {
  kind: "ratings",
  criteria: reflectionCriteria,
  values: ["Good", "Average", "Fair", "Poor"],
};
const style: ObservationStyle = { ...defaultStyle, layout: "paper" };
const score: BodyFormat = { kind: "score", phrase: "The score this time is:", min: 1, max: 4 };

const jobs = {
  plan: "Break the question into ordered sub-tasks, or renew the plan after a setback.",
  web_search: "Search the web with one query.",
  wiki_search: "Search the encyclopedia with one query.",
  crawl_page: "Read one or several pages; several URLs are joined with |.",
  code: "Run a Python program that prints what you need to know. Files and network are out of reach.",
  visual_inspector: "Look at an image file and report what is in it.",
  reflection:
    "Judge the work so far by three criteria, one line each, with Good, Average, Fair or Poor. Any Poor means: make a new plan.",
  suggested_answer: "Propose an answer, to be checked before it is given.",
  double_check:
    "Check the suggested answer against the question and the evidence and score it from 1 (wrong) to 4 (fully right).",
  answer: "Give the final answer and nothing else.",
};

function role(name: keyof typeof jobs, next: readonly string[], spec: Partial<TagSpec> = {}): TagSpec {
  return { name, job: jobs[name], body: text, think: "required", next, ...spec };
}

const replanOnPoor: Gate = { tag: "reflection", when: "any-rating", worst: "Poor", leaves: ["plan"] };
const answerOnlyWhenChecked: Gate = { tag: "double_check", when: "score-below", min: 3, forbids: ["answer"] };

/** The verified chain over a set of tools: `web` and `multi` differ in the tools and in when they may reflect. */
function verifiedChain(tools: readonly TagSpec[], anytimeReflection: boolean): readonly TagSpec[] {
  const calls = tools.map((tool) => tool.name);
  const reflect = anytimeReflection ? ["reflection"] : [];
  return [
    role("plan", [...calls, ...reflect, "suggested_answer"]),
    ...tools.map((tool) => ({ ...tool, next: [...calls, "reflection", "suggested_answer"] })),
    role("reflection", ["plan", ...calls, "suggested_answer"], { body: ratings }),
    role("suggested_answer", ["double_check"]),
    role("double_check", ["plan", ...calls, ...reflect, "answer"], { body: score }),
    // The analysis is in the think before the double check; the answer itself needs none.
    role("answer", [], { think: "optional" }),
  ];
}

const webSearch = role("web_search", [], { tool: "web_search", advice: "Write one query per search." });
const crawlPage = role("crawl_page", [], {
  tool: "crawl_page",
  body: { kind: "urls" },
  advice: "Read the pages that the results point to before you rely on them.",
});

/** Search and crawl, with reflection and verification before the answer. */
export const webProfile: Profile = defineProfile({
  name: "web",
  style,
  purpose: "Answer questions by searching the web and reading pages.",
  start: ["plan", "web_search", "crawl_page"],
  tags: verifiedChain([webSearch, crawlPage], false),
  gates: [replanOnPoor, answerOnlyWhenChecked],
  suggestedAnswer: "suggested_answer",
});

/** Multi-hop questions over one corpus: plan, search, reflect, answer. */
export const mhqaProfile: Profile = defineProfile({
  name: "mhqa",
  style,
  purpose: "Answer questions that need several facts from an encyclopedia.",
  start: ["plan", "wiki_search"],
  tags: [
    role("plan", ["wiki_search", "answer"]),
    role("wiki_search", ["wiki_search", "plan", "reflection", "answer"], { tool: "wiki_search" }),
    role("reflection", ["plan", "wiki_search", "answer"], { body: text }),
    role("answer", []),
  ],
  advice: ["Give several answers separated by |.", "After a reflection, keep searching unless you are certain."],
});

/** Programs for code and math: one plan, then think, code, observation, reflection, until the answer. */
export const codeProfile: Profile = defineProfile({
  name: "code",
  style,
  purpose: "Solve programming and mathematics problems with the help of programs.",
  start: ["plan"],
  tags: [
    role("plan", ["code", "answer"], { think: "forbidden", maxTimes: 1 }),
    role("code", ["reflection"], {
      tool: "code",
      body: { kind: "code", fence: "py", stdin: true },
      advice: "Print what you want to see; each program starts from nothing.",
    }),
    role("reflection", ["code", "answer"], { think: "forbidden" }),
    role("answer", []),
  ],
  advice: ["Give a number or formula as \\boxed{…}; give a program in one ```py fence, without tests."],
});

/** All tools: search, crawl, code and images, with verification. */
export const multiProfile: Profile = defineProfile({
  name: "multi",
  style,
  purpose: "Answer questions with the help of search, pages, programs and images.",
  start: ["plan", "web_search", "crawl_page", "code", "visual_inspector"],
  tags: verifiedChain(
    [
      webSearch,
      crawlPage,
      role("code", [], { tool: "code", body: { kind: "code", fence: "python", stdin: false } }),
      role("visual_inspector", [], {
        tool: "visual_inspector",
        body: { kind: "json", example: '{"file_path": "image.png", "question": "What is written on the sign?"}' },
      }),
    ],
    true,
  ),
  gates: [replanOnPoor, answerOnlyWhenChecked],
  suggestedAnswer: "suggested_answer",
});

/** For tools of any kind: what chains are run with where no profile is given. */
export const anyProfile: Profile = defineProfile({
  ...multiProfile,
  purpose: "Answer questions with the help of the tools.",
});

/** Everything, with up to four calls in one turn: look-ups that do not depend on each other are made together. */
export const wideProfile: Profile = defineProfile({ ...multiProfile, name: "wide", maxParallelCalls: 4 });

export const builtInProfiles: Readonly<Record<string, Profile>> = {
  web: webProfile,
  mhqa: mhqaProfile,
  code: codeProfile,
  multi: multiProfile,
  wide: wideProfile,
};
