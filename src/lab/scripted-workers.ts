/** The scripted search agent, reader and code agent: each does its sub-task with its tool and reports. No LLM anywhere. */
import type { Message } from "../core/message.ts";
import type { ChatRequest } from "../core/model.ts";
import { teamRequestIn } from "../language/team-moves.ts";
import { relationNamed, statedKind, statedValue } from "./relations.ts";
import type { Played } from "./scripted-specialists.ts";
import { type Evidence, evidenceIn, newestReport, ownResults, ownTask, questionIn } from "./transcript.ts";
import { bothValues, kindsAt, type LookUp, lookUpsOf, type Understood } from "./understand-question.ts";

/** Sub-tasks as the scripted manager words them. */
export const wording = {
  search: (subject: string) => `Find pages about ${subject}.`,
  read: (url: string, relation: string, subject: string) => `Read ${url} and report the ${relation} of ${subject}.`,
  compute: (expression: string) => `Compute ${expression}.`,
};

/** Calls of one sub-task before a worker gives up. */
const maxTries = 8;

/**
 * The thought of a worker whose last call brought nothing. Those who search and read repeat the one that led to the call: a student of
 * runs in which nothing failed knows it, so only the decision to ask again is new to it, not the words.
 */
function again(results: readonly string[], thought: string): Pick<Played, "reasoning"> {
  return results.length === 0 ? {} : { reasoning: thought };
}

/** A result that is worth asking for again: a failed call, or nothing at all. */
const useless = /^\s*(?:error:|no results$)/;

/** Searches for the subject it was given, again where nothing came, and reports all that was found. */
export function scriptedSearchAgent({ messages }: ChatRequest): Played {
  const results = ownResults(messages, "web_search");
  const result = results.at(-1) ?? "";
  if (linksIn(result).length === 0 && results.length < maxTries) {
    const subject = /^Find pages about (.+)\.$/.exec(ownTask(messages, "search_agent"))?.[1];
    if (!subject) return { text: "I can only find pages about a subject." };
    return { ...again(results, `find ${subject}`), toolCalls: [{ name: "web_search", input: { query: subject } }] };
  }
  const links = linksIn(result).map(({ title, url }) => `- ${title}: ${url}`);
  return { text: links.length > 0 ? `Pages found:\n${links.join("\n")}` : "No pages found." };
}

/** The links of a search result: `1. [title](address)`, or `1. title address` where it is written short. */
function linksIn(text: string): { title: string; url: string }[] {
  const links = text.matchAll(/^\s*\d+\. (?:\[([^\]]+)\]\(([^)\s]+)\)|(.+?) (https?:\S+))/gm);
  return [...links].map((link) => ({ title: (link[1] ?? link[3])!, url: (link[2] ?? link[4])! }));
}

/** Reads the page and reports the value asked for. It does not ask what kind of thing the page is about, unless it fails. */
export function scriptedReader({ messages }: ChatRequest): Played {
  const task = /^Read (\S+) and report the (.+) of (.+)\.$/.exec(ownTask(messages, "reader_agent"));
  const relation = relationNamed(task?.[2] ?? "");
  if (!task || !relation) return { text: "I can only read a page for one fact." };
  const pages = ownResults(messages, "crawl_page");
  const page = pages.at(-1) ?? "error:";
  if (useless.test(page) && pages.length < maxTries) {
    return {
      ...again(pages, `read the ${relation.name}`),
      toolCalls: [{ name: "crawl_page", input: { urls: [task[1]!] } }],
    };
  }
  const value = statedValue(page, relation);
  if (value !== null) return { text: `The ${relation.name} of ${task[3]} is ${value}.` };
  const about = statedKind(page);
  const instead = about ? `it is a ${about.word}` : "it says nothing of use";
  return { text: `No ${relation.name} on this page: ${instead}.` };
}

/** Turns the expression into a line of Python, runs it and reports what it printed. */
export function scriptedCodeAgent({ messages }: ChatRequest): Played {
  const expression = /^Compute (.+)\.$/.exec(ownTask(messages, "code_agent"))?.[1];
  if (!expression) return { text: "I can only compute an expression." };
  const outputs = ownResults(messages, "code");
  const output = outputs.at(-1) ?? "error:";
  if (useless.test(output) && outputs.length < maxTries)
    return {
      ...again(outputs, "nothing came, try again"),
      toolCalls: [{ name: "code", input: { code: `print(${expression})` } }],
    };
  const printed = printedNumber(output);
  return { text: printed === null ? `The program failed: ${output}` : `The result is ${printed}.` };
}

/** The number a program printed, whatever the code tool writes around it. */
export function printedNumber(output: string): string | null {
  return /^\s*(?:.*\n)*?\s*(-?\d+)\s*$/m.exec(output)?.[1] ?? null;
}

/** A page that a search found, and its place among the results, from 1. */
export interface FoundPage {
  url: string;
  place: number;
}

/** The pages that a search agent's report names under exactly this title. */
export function pagesTitled(report: string, title: string): FoundPage[] {
  const found = [...report.matchAll(/^- (.+): (\S+)$/gm)].map((page, index) => ({ page, place: index + 1 }));
  return found.filter(({ page }) => page[1] === title).map(({ page, place }) => ({ url: page[2]!, place }));
}

export function planAsked(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last?.role === "user" && teamRequestIn(last.content)?.move === "plan";
}

/*
 * The scripted reflector and verifier. The reflector looks at the newest report. The verifier goes through the evidence
 * again from the beginning: is every page about the thing that the question means (its name and its kind), does it give
 * the value, was the right thing computed from the right numbers, and is the proposal their result? Both see only what
 * was gathered; neither knows the gold answer.
 */

/** Rates the work: poor when a page did not give what was wanted, the newest or, of several read at once, the one it is asked about. */
export function scriptedReflector({ messages }: ChatRequest): Played {
  const asked = messages.findLast(({ role }) => role === "user")?.content ?? "";
  const failed = /(?:^|\. )No (.+) on this page: (.+)\.$/.exec(asked) ?? missing.exec(newestReport(messages));
  return {
    reasoning: failed ? `no ${failed[1]}, ${failed[2]}` : "all in order",
    text: [
      "information_conflict : Good",
      `tool_effectiveness : ${failed ? "Poor" : "Good"}`,
      "trajectory_monitoring : Good",
    ].join("\n"),
  };
}

const missing = /^No (.+) on this page: (.+)\.$/;

interface Verdict {
  score: number;
  reason: string;
}

/** Checks the proposal against the evidence, given how the question is read. */
export function scriptedVerifier(request: ChatRequest, understand: (question: string) => Understood | null): Played {
  const question = questionIn(request.messages);
  const understood = question === null ? null : understand(question);
  const asked = request.messages.findLast(
    (message) => message.role === "user" && message.content.includes("Proposed answer: "),
  );
  const proposal = /^Proposed answer: (.+)$/m.exec(asked?.content ?? "")?.[1] ?? "";
  const verdict = understood
    ? check(understood, evidenceIn(request.messages), proposal)
    : { score: 1, reason: "not understood" };
  return { reasoning: verdict.reason, text: `The score this time is:${verdict.score}` };
}

function check(understood: Understood, evidence: readonly Evidence[], proposal: string): Verdict {
  const pages = evidence.filter((one) => one.tool === "crawl_page").map((one) => one.output);
  if (understood.kind === "look-up") {
    const read = readAgain(understood.lookUp, pages);
    if (read.value !== null && read.value !== proposal) return { score: 1, reason: `the page says ${read.value}` };
    return { score: read.value === null ? 2 : 4, reason: read.reason };
  }
  const parts = lookUpsOf(understood).map((part) => readAgain(part, pages));
  const lacking = parts.find(({ value }) => value === null);
  if (lacking) return { score: 2, reason: lacking.reason };
  const values = parts.map(({ value }) => value!);
  if (understood.kind === "both") {
    const both = bothValues(values);
    return both === proposal ? { score: 4, reason: "both fit" } : { score: 1, reason: `the pages say ${both}` };
  }
  const run = evidence.findLast((one) => one.tool === "code");
  if (!run) return { score: 1, reason: "nothing was computed" };
  const expression = understood.kind === "compute" ? understood.expression : values.join(` ${understood.operator} `);
  const { code = "" } = JSON.parse(run.input) as { code?: string };
  if (code !== `print(${expression})`) return { score: 2, reason: "the numbers do not fit" };
  if (printedNumber(run.output) !== proposal) return { score: 1, reason: "not what was computed" };
  return { score: 4, reason: "the numbers fit" };
}

/** Walks the pages again; a value of null means that some page was not about what it should be. */
function readAgain(lookUp: LookUp, pages: readonly string[]): { value: string | null; reason: string } {
  let subject = lookUp.entity;
  let reason = "no page was read";
  for (const [step, name] of lookUp.relations.entries()) {
    const expected = kindsAt(lookUp, step);
    const relation = relationNamed(name)!;
    const about = pages
      .map((page) => ({ page, stated: statedKind(page) }))
      .filter(({ page, stated }) => stated?.subject === subject && statedValue(page, relation) !== null);
    const right = about.findLast(({ stated }) => expected.includes(stated!.kind));
    if (!right) {
      const wrong = about.at(-1)?.stated;
      return { value: null, reason: wrong ? `${subject} is a ${wrong.word}: not a ${expected[0]}` : reason };
    }
    reason = `${subject} is a ${right.stated!.word}: fits`;
    subject = statedValue(right.page, relation)!;
  }
  return { value: subject, reason };
}
