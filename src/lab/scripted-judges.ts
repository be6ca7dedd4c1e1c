/**
 * The scripted reflector and verifier. The reflector looks at the newest report. The verifier goes through the evidence
 * again from the beginning: is every page about the thing that the question means (its name and its kind), does it give
 * the value, was the right thing computed from the right numbers, and is the proposal what came out? Both see only what
 * was gathered; neither knows the gold answer.
 */
import type { ChatRequest } from "../core/model.ts";
import { relationNamed, statedKind, statedValue } from "./relations.ts";
import type { Played } from "./scripted-specialists.ts";
import { printedNumber } from "./scripted-workers.ts";
import { type Evidence, evidenceIn, newestReport, questionIn } from "./transcript.ts";
import { bothValues, kindsAt, type LookUp, lookUpsOf, type Understood } from "./understand-question.ts";

/** Rates the work: poor when the newest page did not give what was wanted. */
export function scriptedReflector({ messages }: ChatRequest): Played {
  const report = newestReport(messages);
  const failed = /^No (.+) on this page: (.+)\.$/.exec(report);
  return {
    reasoning: failed ? `no ${failed[1]}, ${failed[2]}` : "all in order",
    text: [
      "information_conflict : Good",
      `tool_effectiveness : ${failed ? "Poor" : "Good"}`,
      "trajectory_monitoring : Good",
    ].join("\n"),
  };
}

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
  const parts = readParts(understood, pages);
  if (parts.missing !== undefined) return { score: 2, reason: parts.missing };
  if (understood.kind === "both") {
    const values = bothValues(parts.values);
    return values === proposal ? { score: 4, reason: "both fit" } : { score: 1, reason: `the pages say ${values}` };
  }
  const run = evidence.findLast((one) => one.tool === "code");
  if (!run) return { score: 1, reason: "nothing was computed" };
  const expression =
    understood.kind === "compute" ? understood.expression : parts.values.join(` ${understood.operator} `);
  const { code = "" } = JSON.parse(run.input) as { code?: string };
  if (code !== `print(${expression})`) return { score: 2, reason: "the numbers do not fit" };
  if (printedNumber(run.output) !== proposal) return { score: 1, reason: "not what was computed" };
  return { score: 4, reason: "the numbers fit" };
}

/** The values of all walks of a question, or why one of them is not known. */
function readParts(understood: Understood, pages: readonly string[]): { values: string[]; missing?: string } {
  const values: string[] = [];
  for (const part of lookUpsOf(understood)) {
    const { value, reason } = readAgain(part, pages);
    if (value === null) return { values, missing: reason };
    values.push(value);
  }
  return { values };
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
