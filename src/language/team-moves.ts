/**
 * What the rules of our team write in the user's name, and what each text asks for. The team says it with these texts and
 * a recording of the team's calls is read by the same ones, so that the two can't drift apart.
 */
import type { Message } from "../core/message.ts";
import type { ChatTool } from "../core/model.ts";
import type { TeamStep } from "../core/team-run.ts";

type AskedMove = NonNullable<TeamStep["move"]>;

/** A text by which the rules ask for something, at the start of its message or of a paragraph. */
interface TeamRequest {
  text: string;
  /** The move it asks for; a manager without one continues with what it was doing. */
  move?: AskedMove;
  /** Ends its message, after other words of the rules. */
  ending?: boolean;
  /** Of the small team, whose members take turns: each of them may answer. */
  inTurn?: boolean;
}

/** Every request and reminder of the rules. */
export const teamRequests = {
  plan: { text: "Write the plan: a short numbered list of sub-tasks, and nothing after it.", move: "plan" },
  newPlan: {
    text: "Write a new plan that avoids this: a short numbered list of sub-tasks, and nothing after it.",
    move: "plan",
  },
  carryOut: { text: "Carry out the plan: delegate the next sub-task, or reply with the answer alone.", move: "answer" },
  handBack: {
    text: "has reported. Manager, continue: delegate the next sub-task, or reply with the answer alone.",
    ending: true,
  },
  planShown: { text: "Notes of the planner, which may be wrong:", move: "answer" },
  solveAgain: {
    text: 'Verifier, answer the question yourself, step by step in short sentences. Then write one line "Answer: " with the answer alone.',
    move: "verify",
  },
  turn: { text: "it is your turn: use your tool.", move: "answer", ending: true, inTurn: true },
  useTool: { text: "Use your tool before you answer.", move: "answer", inTurn: true },
  afterOutput: {
    text: 'If this answers the question, write one line "Answer: " with the answer alone. If not, try again.',
    move: "answer",
    ending: true,
    inTurn: true,
  },
  answerReminder: {
    text: 'That is not an answer. Delegate the next sub-task by a call, or write one line "Answer: " with the answer alone.',
    move: "answer",
  },
  continueAnyway: { text: "Continue as well as you can.", ending: true },
  emptyReply: {
    text: "Your reply was empty. Call one of the tools you have, or reply with text as your instructions say.",
  },
  review: { text: "Reflector, judge the work so far.", move: "review" },
  reviewReminder: {
    text: "The three ratings are missing. Write exactly three lines: information_conflict, tool_effectiveness and trajectory_monitoring, each followed by a colon and Good, Average, Fair or Poor.",
    move: "review",
  },
  verify: { text: "Verifier, check it and give your score.", move: "verify" },
  verifyReminder: {
    text: 'The score is missing. Write one line "The score this time is:" and a whole number from 1 to 4.',
    move: "verify",
  },
  summary: { text: "What was done so far:\n" },
} as const satisfies Record<string, TeamRequest>;

const requests: readonly TeamRequest[] = Object.values(teamRequests);

/** How far from an end of its message a request stands: between them may be documents of any length. */
const reach = 4_000;

/** The request that a message of the rules makes, where it is one. */
export function teamRequestIn(content: string): TeamRequest | undefined {
  const ends = content.length > 2 * reach ? `${content.slice(0, reach)}\n${content.slice(-reach)}` : content;
  return requests.find(
    ({ text, ending }) =>
      (ending && ends.endsWith(text)) || ends.startsWith(text.trimEnd()) || ends.includes(`\n\n${text}`),
  );
}

const answerLine = /^[\s*#>_-]*(?:the )?(?:final )?answer(?: is)?[*_]*\s*[:=][*_]*[ \t]*(\S.*)$/gim;

/** What a text marks as its answer, in its last line "Answer: …"; null where it marks none. */
export function markedAnswer(text: string): string | null {
  const line = [...text.matchAll(answerLine)].at(-1)?.[1];
  return (
    line
      ?.replace(/[*_`\s]+$/, "")
      .replace(/^`+/, "")
      .trim() || null
  );
}

/** The answer that a manager's text proposes: what it marks, or all of it; null for a line of a plan. */
export function proposedAnswer(text: string): string | null {
  return markedAnswer(text) ?? (/^\s*(?:\d+[.)]\s|step \d+\b|#+ )/im.test(text) ? null : text.trim());
}

/** What the verifier of the small team found, who answers the question itself. */
export function solvedAnswer(text: string): string {
  return markedAnswer(text) ?? text.trim().split("\n").at(-1)!;
}

/** Whether a sentence says what a short answer says: the same last number, or the same words. */
export function sameAnswer(sentence: string, answer: string): boolean {
  const [said, given] = [sentence, answer].map((text) =>
    text
      .replaceAll(",", "")
      .match(/-?\d+(?:\.\d+)?/g)
      ?.map(Number),
  );
  if (given?.length === 1)
    return Math.abs((said?.at(-1) ?? Number.NaN) - given[0]!) <= 1e-6 * Math.max(1, Math.abs(given[0]!));
  const [left, right] = [sentence, answer].map(
    (text) =>
      text
        .toLowerCase()
        .match(/[\p{L}\p{N}]+/gu)
        ?.join(" ") ?? "",
  );
  return ` ${left} `.includes(` ${right} `);
}

/** What the small team gave back: the first answer that another agrees with, else the first; and the verifier's scores. */
export function agreedAnswer(steps: readonly Pick<TeamStep, "move" | "text">[]) {
  const others: string[] = [];
  const scores: number[] = [];
  let first: string | null = null;
  let last: string | null = null;
  for (const { move, text } of steps) {
    const said = move === "answer" ? markedAnswer(text) : move === "verify" ? solvedAnswer(text) : null;
    if (said === null) continue;
    const agrees = others.some((one) => (move === "verify" ? sameAnswer(said, one) : sameAnswer(one, said)));
    if (move === "verify") scores.push(agrees ? 4 : 1);
    else first ??= last = said;
    if (move === "answer") last = said;
    if (agrees) return { answer: last, scores };
    others.push(said);
  }
  return { answer: first, scores };
}

/** The first message to the manager: the question and the request for a plan. */
export function questionMessage(question: string): string {
  return `Question: ${question}\n\n${teamRequests.plan.text}`;
}

/** The question in the first message to a manager of ours; undefined where it is another message. */
export function askedQuestion(content: string): string | undefined {
  const [before, after] = ["Question: ", `\n\n${teamRequests.plan.text}`];
  if (!content.startsWith(before) || !content.endsWith(after)) return undefined;
  return content.slice(before.length, -after.length);
}

/** Whether a message gives a member of the small team its turn, or what its calls gave. */
export function isTurn({ role, content }: Message): boolean {
  return role === "user" && teamRequestIn(content)?.inTurn === true;
}

/** How members of the small team are told to call tools, by words alone. */
export const callsInText = {
  program: "Write it in a block that begins with ```python. It will be run and you will be shown what it prints.",
  line: "To use it, write a line like this and nothing after it:\n",
};

/** The tools that the instructions of such a member tell of. */
export function toldTools(instructions: string): ChatTool[] {
  const tool = (name: string, field: string): ChatTool => ({
    name,
    description: "",
    parameters: { type: "object", properties: { [field]: { type: "string" } } },
  });
  const called = instructions.split(callsInText.line).slice(1);
  return [
    ...called.flatMap((line) => {
      const [, name, field] = /^([\w-]+)\(([\w-]+)=/.exec(line) ?? [];
      return name && field ? tool(name, field) : [];
    }),
    ...(instructions.includes(callsInText.program) ? [tool("code", "code")] : []),
  ];
}

/** The move that a text of a member of ours is, by what it was asked for before. */
export function askedMove(messages: readonly Message[], isManager: boolean): AskedMove {
  let task: AskedMove = isManager ? "answer" : "report";
  let judged: AskedMove | undefined;
  for (const { role, content, toolCalls = [] } of messages) {
    // A called agent has a task of its own; one that judges or notes calls none.
    if (toolCalls.length > 0) judged = undefined;
    const request = role === "user" ? teamRequestIn(content) : undefined;
    if (!request || request === teamRequests.emptyReply) continue;
    const { move } = request;
    judged = !isManager && (move === "review" || move === "verify") ? move : undefined;
    if ((isManager && (move === "plan" || move === "answer")) || (request.inTurn && move)) task = move;
  }
  return judged ?? task;
}
