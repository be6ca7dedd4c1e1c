/** The scripted search agent, reader and code agent: each does its sub-task with its tool and reports. No LLM anywhere. */
import type { Message } from "../core/message.ts";
import type { ChatRequest } from "../core/model.ts";
import { teamRequestIn } from "../language/team-moves.ts";
import { relationNamed, statedDoubt, statedKind, statedValue } from "./relations.ts";
import type { Played } from "./scripted-specialists.ts";
import { ownResults, ownTask } from "./transcript.ts";

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
export function linksIn(text: string): { title: string; url: string }[] {
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
  const doubt = statedDoubt(page);
  if (value !== null)
    return { text: `The ${relation.name} of ${task[3]} is ${value}.${doubt ? ` The page is ${doubt}.` : ""}` };
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
