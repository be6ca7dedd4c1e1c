/**
 * Scripted specialists: plain functions that play the team's roles in the lab, without any LLM. Each is given exactly
 * what an LLM agent would be given, the messages and the tools, and nothing else: no gold answer, no access to the
 * world. They remember nothing between two calls, so everything they do follows from what they were shown.
 *
 * With `imperfect`, a share of the runs goes wrong in a natural way: the team misreads the question (another relation,
 * a wrong operator, a dropped term) and, since all of it misreads, its verifier does not notice.
 */
import { seededRandom } from "../base/work/random.ts";
import type { ChatRequest } from "../core/model.ts";
import {
  type FoundPage,
  pagesTitled,
  planAsked,
  printedNumber,
  scriptedCodeAgent,
  scriptedReader,
  scriptedReflector,
  scriptedSearchAgent,
  scriptedVerifier,
  wording,
} from "./scripted-workers.ts";
import { questionIn, type TranscriptEvent, transcriptEvents } from "./transcript.ts";
import {
  bothValues,
  type LookUp,
  lookUpsOf,
  misread,
  type Understood,
  understandQuestion,
} from "./understand-question.ts";

/** Plays one role: a function from what a model would see to what a model would say. */
export type Specialist = (request: ChatRequest) => {
  text?: string;
  reasoning?: string;
  toolCalls?: { name: string; input: unknown }[];
};
export type Played = ReturnType<Specialist>;

export interface SpecialistOptions {
  /** Share of runs in which the question is misread; 0 by default. */
  imperfect?: number;
  /** Decides which runs, and how; 0 by default. */
  seed?: number;
  /**
   * The manager sends several workers at the same time where their look-ups do not depend on each other; false by
   * default.
   */
  wide?: boolean;
}

/** The six roles of the team, played by scripts. */
export function scriptedSpecialists(
  options: SpecialistOptions = {},
): Record<"manager" | "search" | "reader" | "code" | "reflector" | "verifier", Specialist> {
  const { imperfect = 0, seed = 0, wide = false } = options;
  const understandFor =
    (request: ChatRequest) =>
    (question: string): Understood | null => {
      const understood = understandQuestion(question);
      if (!understood || imperfect === 0) return understood;
      // Another seed of the request is another try of the same question, which may end differently.
      const random = seededRandom("imperfect", seed, request.seed ?? 0, question);
      return random.next() < imperfect ? misread(understood, random) : understood;
    };
  return {
    manager: named("scripted-manager", (request) => scriptedManager(request, understandFor(request), wide)),
    search: named("scripted-search", scriptedSearchAgent),
    reader: named("scripted-reader", scriptedReader),
    code: named("scripted-code", scriptedCodeAgent),
    reflector: named("scripted-reflector", scriptedReflector),
    verifier: named("scripted-verifier", (request) => scriptedVerifier(request, understandFor(request))),
  };
}

/** Gives a function the name under which records list it, so that it is not taken for a model. */
function named(name: string, specialist: Specialist): Specialist {
  return Object.defineProperty(specialist.bind(null), "name", { value: name });
}

/*
 * The scripted manager: reads the question, plans, gives the others their tasks and combines their reports. It sees
 * what an LLM manager would see, the question and the reports, and works out from them, again at every move, what is
 * known and what to do next. It opens the first page with the right title; where that was the wrong thing of that name,
 * it asks the reflector, makes a new plan and opens the next page. With `wide` it sends several workers at the same
 * time where their look-ups do not depend on each other.
 */

/** How far a walk over pages is. */
interface Walk {
  lookUp: LookUp;
  /** Values found so far, one per relation. */
  values: string[];
  /** Pages of the present subject's title that turned out to be about something else. */
  wrongPages: Set<string>;
  /** Pages with the title of the present subject, in the order of the search; null before the search. */
  pages: FoundPage[] | null;
  /** The page the newest value came from. */
  lastPage: string | null;
}

interface Situation {
  walks: Walk[];
  result: string | null;
  /** The newest page was the wrong one and was not judged yet. */
  stuck: string | null;
}

/** Plays the manager, given how the question is read; `wide` where it may send several workers at the same time. */
function scriptedManager(
  request: ChatRequest,
  understand: (question: string) => Understood | null,
  wide = false,
): Played {
  const question = questionIn(request.messages);
  const understood = question === null ? null : understand(question);
  if (!understood) return { text: planAsked(request.messages) ? "1. none" : "unknown" };
  const situation = readSituation(understood, transcriptEvents(request.messages));
  if (planAsked(request.messages)) return plan(understood, situation);
  if (situation.stuck)
    return { toolCalls: [{ name: callName(request, "reflector"), input: { task: situation.stuck } }] };
  // In a shared history one speaks after the other, so there is nothing to be gained by sending several.
  return act(request, understood, situation, wide && !callName(request, "search_agent").startsWith("transfer_to_"));
}

/** The manager calls others by name, or transfers to them: whichever calls it was given. */
function callName(request: ChatRequest, member: string): string {
  return request.tools?.find((tool) => tool.name.endsWith(member))?.name ?? member;
}

/** The page to open next: the first of the right title that was not found wrong. */
function nextPage(walk: Walk): FoundPage | undefined {
  return walk.pages?.find((page) => !walk.wrongPages.has(page.url));
}

function isUnfinished(walk: Walk): boolean {
  return walk.values.length < walk.lookUp.relations.length;
}

function subjectOf(walk: Walk): string {
  return walk.values.at(-1) ?? walk.lookUp.entity;
}

function readSituation(understood: Understood, happened: readonly TranscriptEvent[]): Situation {
  const walks = lookUpsOf(understood).map(
    (lookUp): Walk => ({ lookUp, values: [], wrongPages: new Set(), pages: null, lastPage: null }),
  );
  const situation: Situation = { walks, result: null, stuck: null };
  for (const event of happened) {
    const walk =
      (event.type === "delegation" &&
        walks.find((one) => isUnfinished(one) && event.task.endsWith(` ${subjectOf(one)}.`))) ||
      (walks.find(isUnfinished) ?? walks.at(-1));
    if (event.type === "rejection") {
      if (walk?.lastPage) {
        walk.wrongPages.add(walk.lastPage);
        walk.values.pop();
      }
      situation.result = null;
    } else if (event.member === "reflector") {
      situation.stuck = null;
    } else if (event.member === "code_agent") {
      situation.result = printedNumber(/is (-?\d+)\.$/.exec(event.report)?.[1] ?? "");
    } else if (walk) {
      readReport(situation, walk, event.task, event.report);
    }
  }
  return situation;
}

function readReport(situation: Situation, walk: Walk, task: string, report: string): void {
  const page = /^Read (\S+) /.exec(task)?.[1];
  if (!page) {
    walk.pages = pagesTitled(report, subjectOf(walk));
    return;
  }
  const value = /^The .+? of .+? is (.+?)\.$/.exec(report)?.[1];
  if (value === undefined) {
    walk.wrongPages.add(page);
    situation.stuck = report;
    return;
  }
  walk.values.push(value);
  walk.lastPage = page;
  // The walk continues from another thing, which has to be searched for. A rejected last value leads back to these pages.
  if (walk.values.length < walk.lookUp.relations.length) {
    walk.pages = null;
    walk.wrongPages.clear();
  }
}

/** The plan: what remains to be done, one line each. */
function plan(understood: Understood, situation: Situation): Played {
  const lines: string[] = [];
  let again: FoundPage | undefined;
  if (understood.kind === "compute") lines.push(`compute ${understood.expression}`);
  for (const walk of situation.walks) {
    const { relations } = walk.lookUp;
    for (let step = walk.values.length; step < relations.length; step++) {
      const first = step === walk.values.length;
      const subject = first ? subjectOf(walk) : `#${lines.length}`;
      const retry = first && walk.wrongPages.size > 0 ? nextPage(walk) : undefined;
      again ??= retry;
      lines.push(`${relations[step]} of ${subject}${retry ? ` in result ${retry.place}` : ""}`);
    }
  }
  if (understood.kind === "mixed") {
    const operands = situation.walks.map((walk) => walk.values.at(-1));
    let line = 0;
    const [first, second] = operands.map((value) => value ?? `#${++line}`);
    lines.push(`compute ${first} ${understood.operator} ${second}`);
  }
  return {
    reasoning: again ? `try result ${again.place}` : `${lines.length} step${lines.length === 1 ? "" : "s"}`,
    text: lines.map((line, index) => `${index + 1}. ${line}`).join("\n"),
  };
}

/** The next delegations, or the answer. */
function act(request: ChatRequest, understood: Understood, situation: Situation, wide: boolean): Played {
  const call = (member: string, reasoning: string, task: string): Played => ({
    reasoning,
    toolCalls: [{ name: callName(request, member), input: { task } }],
  });
  const open = situation.walks.filter(isUnfinished);
  const current = open[0];
  // Who works wide names neither subject nor finding: a thought that lists two of them tempts a small model to copy the first twice.
  const known = wide && situation.walks.length > 1 ? null : newestFinding(situation, current);
  if (current) {
    const moves = open.slice(0, wide ? open.length : 1).map(nextMove);
    if (moves.some((move) => move === null)) return { reasoning: "no page is left", text: "unknown" };
    const [first] = moves as Delegation[];
    if (moves.length === 1)
      return call(first!.member, first!.search ? (known ?? first!.thought) : first!.thought, first!.task);
    return {
      reasoning: moves.every((move) => move!.search)
        ? "find both"
        : `read ${moves.map((move) => `the ${move!.relation}`).join(" and ")}`,
      toolCalls: moves.map((move) => ({ name: callName(request, move!.member), input: { task: move!.task } })),
    };
  }
  const values = situation.walks.map((walk) => walk.values.at(-1)!);
  if ((understood.kind === "compute" || understood.kind === "mixed") && situation.result === null) {
    const expression = understood.kind === "compute" ? understood.expression : values.join(` ${understood.operator} `);
    return call("code_agent", known ?? "compute it", wording.compute(expression));
  }
  if (situation.result !== null) return { reasoning: `the result is ${situation.result}`, text: situation.result };
  return {
    reasoning: known ?? "both are known",
    text: understood.kind === "both" ? bothValues(values) : values.at(-1)!,
  };
}

/** Whom to send for a walk, with what, and the thought behind it. */
interface Delegation {
  member: string;
  search: boolean;
  relation: string;
  thought: string;
  task: string;
}

/** What a walk needs next: a search for its subject or the next page; null where no page is left. */
function nextMove(walk: Walk): Delegation | null {
  const subject = subjectOf(walk);
  const relation = walk.lookUp.relations[walk.values.length]!;
  if (walk.pages === null)
    return {
      member: "search_agent",
      search: true,
      relation,
      thought: `find ${subject}`,
      task: wording.search(subject),
    };
  const page = nextPage(walk);
  if (page === undefined) return null;
  const where = walk.wrongPages.size > 0 ? ` in result ${page.place}` : "";
  const task = wording.read(page.url, relation, subject);
  return { member: "reader_agent", search: false, relation, thought: `read the ${relation}${where}`, task };
}

/** What the last report brought, in words: the thought that leads to the next move. */
function newestFinding(situation: Situation, current: Walk | undefined): string | null {
  const walk =
    current && current.values.length > 0 ? current : situation.walks.findLast((one) => one !== current && one.lastPage);
  return walk ? finding(walk) : null;
}

function finding(walk: Walk): string {
  return `the ${walk.lookUp.relations[walk.values.length - 1]} is ${walk.values.at(-1)}`;
}
