/**
 * Tasks from your own documents, after the recipe of TaskCraft. An atomic task asks for one fact that one page states.
 * Depth: the thing an atomic question is about is replaced by a description of it found on another page, so that one
 * more look-up is needed; again for every further level. Width: two questions are merged into one that wants both
 * answers.
 *
 * A model writes, but everything it writes is checked: the answer must be on the page, the quoted evidence too, the
 * question must not contain the answer, and a replaced name must be gone from the question. `check-tasks.ts` then asks
 * whether a task can be solved with tools and not without.
 */
import { z } from "zod";
import { askForJson } from "../base/work/ask-json.ts";
import type { OnProgress } from "../core/events.ts";
import { fingerprint } from "../core/fingerprint.ts";
import type { ChatModel } from "../core/model.ts";
import { defineTask, type Task } from "../core/task.ts";

export interface SourceDocument {
  id: string;
  title?: string;
  text: string;
  url?: string;
}

export interface GenerateOptions {
  model: Pick<ChatModel, "chat">;
  /** Atomic tasks wanted from each document; 2 by default. */
  perDocument?: number;
  /** How many times a question is made one look-up deeper; 1 by default. */
  depth?: number;
  /** Of the atomic tasks, the share that is also merged in pairs; 0.5 by default. */
  width?: number;
  /** Finds other documents that mention a thing; by default those whose text holds its name. */
  find?: (name: string) => Promise<readonly SourceDocument[]> | readonly SourceDocument[];
  /** Ids of tasks that exist already: a question that was written before is not written again. */
  known?: Iterable<string>;
  /** Of one document; 6,000 by default. */
  maxCharacters?: number;
  signal?: AbortSignal;
  /** Called for every task that was written and dropped, with the reason. */
  onRejected?: (rejection: Rejection) => void;
  onProgress?: OnProgress;
}

export interface Rejection {
  kind: "atomic" | "depth" | "width";
  documentId: string;
  question?: string;
  reason: string;
}

interface Atomic {
  question: string;
  answer: string;
  /** The thing the question is about, as the question names it. */
  subject: string;
  documents: string[];
}

const atomicSchema = z.object({
  tasks: z.array(z.object({ question: z.string(), answer: z.string(), subject: z.string(), evidence: z.string() })),
});
const cluesSchema = z.object({ clue: z.string().nullable(), evidence: z.string().optional() });
const mergedSchema = z.object({ question: z.string() });

/** Of the atomic tasks, the share that may become deeper ones. */
const deeperShare = 0.67;

const instructions =
  "You write questions for testing research assistants. You reply with one JSON object and nothing else. You never use knowledge of your own: everything you state must stand in the text you are given.";

/** Writes tasks from documents: atomic ones, deeper ones and merged ones. */
export async function* generateTasks(
  documents: readonly SourceDocument[],
  options: GenerateOptions,
): AsyncGenerator<Task> {
  const { model, depth = 1, width = 0.5 } = options;
  let deepened = 0;
  let partner: Atomic | null = null;
  let merged = 0;
  let made = 0;
  const written = new Set(options.known);
  /** One question, one task: models write the same question for two pages, and one id must not count twice. */
  const fresh = (one: Atomic, family: Rejection["kind"], level: number): Task[] => {
    const task = toTask(one, family, level);
    if (!written.has(task.id)) {
      written.add(task.id);
      return [task];
    }
    const { documents: from, question } = one;
    options.onRejected?.({ kind: family, documentId: from[0]!, question, reason: "the question was written before" });
    return [];
  };
  for (const [index, document] of documents.entries()) {
    for (const atomic of await writeAtomic(model, document, options)) {
      const [task] = fresh(atomic, "atomic", 1);
      if (!task) continue;
      yield task;
      made++;
      // Each deeper question asks about a file that was asked about before: they may not crowd out other files.
      let deeper: Atomic | null = deepened < deeperShare * made ? atomic : null;
      for (let level = 2; level <= depth + 1 && deeper; level++) {
        deeper = await deepen(model, deeper, documents, options);
        if (deeper) yield* fresh(deeper, "depth", level);
        if (deeper && level === 2) deepened++;
      }
      if (partner && merged < Math.floor((made * width) / 2)) {
        const both = await widen(model, partner, atomic, options);
        partner = null;
        if (!both) continue;
        merged++;
        yield* fresh(both, "width", 2);
      } else partner ??= atomic;
    }
    options.onProgress?.({ stage: "generate", done: index + 1, total: documents.length, figures: { atomic: made } });
  }
}

function toTask(made: Atomic, family: string, level: number): Task {
  return defineTask({
    id: `generated-${fingerprint(made.question)}`,
    question: made.question,
    answers: [made.answer],
    family,
    level,
    source: "generated",
    documents: made.documents,
  });
}

async function writeAtomic(
  model: Pick<ChatModel, "chat">,
  document: SourceDocument,
  options: GenerateOptions,
): Promise<Atomic[]> {
  const { perDocument = 2, maxCharacters = 6_000 } = options;
  const text = document.text.slice(0, maxCharacters);
  const reject = (reason: string, question?: string) =>
    options.onRejected?.({ kind: "atomic", documentId: document.id, question, reason });
  const asked = `Text${document.title ? ` of "${document.title}"` : ""}:\n${text}\n\nWrite ${perDocument} questions, each about one fact that the text states. Each question must make sense without the text, name the thing it asks about (its subject), and have one short answer: a name, a number, a date. Reply as {"tasks": [{"question": "...", "answer": "...", "subject": "...", "evidence": "the sentence of the text, copied exactly"}]}.`;
  const written = await askJson(model, asked, atomicSchema, options.signal);
  if ("problem" in written) {
    reject(written.problem);
    return [];
  }
  return written.value.tasks.flatMap(({ question, answer, subject, evidence }) => {
    const problem = atomicProblem({ question, answer, subject, evidence, text });
    if (problem) {
      reject(problem, question);
      return [];
    }
    return [{ question, answer, subject, documents: [document.id] }];
  });
}

function atomicProblem(made: {
  question: string;
  answer: string;
  subject: string;
  evidence: string;
  text: string;
}): string | null {
  const { question, answer, subject, evidence, text } = made;
  if (plain(answer) === "" || plain(question) === "") return "question or answer is empty";
  if (answer.length > 80) return "the answer is not short";
  if (!holds(text, evidence)) return "the evidence does not stand in the text";
  if (!holds(evidence, answer)) return "the evidence does not state the answer";
  if (holds(question, answer)) return "the question gives the answer away";
  if (!holds(question, subject)) return "the question does not name its subject";
  if (/\b(?:the|this) (?:text|passage|document|article)\b/i.test(question)) return "the question points at the text";
  return null;
}

/** One more look-up: the subject's name is replaced by a description from another document. */
async function deepen(
  model: Pick<ChatModel, "chat">,
  made: Atomic,
  documents: readonly SourceDocument[],
  options: GenerateOptions,
): Promise<Atomic | null> {
  const { subject } = made;
  const found = (await options.find?.(subject)) ?? documents;
  const wanted = ` ${plain(subject)} `;
  const other = found.find(
    (one) => !made.documents.includes(one.id) && (options.find !== undefined || plainText(one).includes(wanted)),
  );
  const reject = (reason: string, question?: string): null => {
    options.onRejected?.({ kind: "depth", documentId: other?.id ?? made.documents[0]!, question, reason });
    return null;
  };
  if (!other) return reject(`no other document mentions ${subject}`);
  const text = other.text.slice(0, options.maxCharacters ?? 6_000);
  const asked = `Text${other.title ? ` of "${other.title}"` : ""}:\n${text}\n\nDescribe "${subject}" by one fact that this text states about it, so that only "${subject}" fits, naming ${other.title ? `"${other.title}"` : "another thing of the text"} but never "${subject}" itself. Write a noun phrase, e.g. "the city where X was born". Reply as {"clue": "...", "evidence": "the sentence of the text, copied exactly"}, or {"clue": null} if the text does not single it out.`;
  const clue = await askJson(model, asked, cluesSchema, options.signal);
  if ("problem" in clue) return reject(clue.problem);
  if (clue.value.clue === null) return reject("the text does not single it out");
  const { clue: phrase, evidence = "" } = clue.value;
  if (holds(phrase, subject)) return reject("the clue names the thing itself", phrase);
  if (!holds(text, evidence) || !holds(evidence, subject))
    return reject("the evidence does not state the clue", phrase);
  const question = replaceName(made.question, subject, phrase);
  if (question === null || holds(question, subject)) return reject("the name is still in the question", made.question);
  if (holds(question, made.answer)) return reject("the question gives the answer away", question);
  const next = other.title && holds(phrase, other.title) ? other.title : null;
  if (!next) return reject("the clue names no other thing", question);
  return { question, answer: made.answer, subject: next, documents: [...made.documents, other.id] };
}

/** Two questions in one; both answers are wanted. */
async function widen(
  model: Pick<ChatModel, "chat">,
  a: Atomic,
  b: Atomic,
  options: GenerateOptions,
): Promise<Atomic | null> {
  const reject = (reason: string, question?: string): null => {
    options.onRejected?.({ kind: "width", documentId: a.documents[0]!, question, reason });
    return null;
  };
  const asked = `First question: ${a.question}\nSecond question: ${b.question}\n\nMerge them into one fluent question that asks for both answers, in this order, and keeps every name. Reply as {"question": "..."}.`;
  const written = await askJson(model, asked, mergedSchema, options.signal);
  if ("problem" in written) return reject(written.problem);
  const { question } = written.value;
  if (!holds(question, a.subject) || !holds(question, b.subject)) return reject("a subject got lost", question);
  if (holds(question, a.answer) || holds(question, b.answer))
    return reject("the question gives an answer away", question);
  return {
    question,
    answer: `${a.answer} | ${b.answer}`,
    subject: a.subject,
    documents: [...a.documents, ...b.documents],
  };
}

function askJson<T>(
  model: Pick<ChatModel, "chat">,
  content: string,
  schema: z.ZodType<T>,
  signal: AbortSignal | undefined,
) {
  const messages = [
    { role: "system" as const, content: instructions },
    { role: "user" as const, content },
  ];
  return askForJson(async (request) => (await model.chat(request)).text, { messages, signal }, schema);
}

/** Lower case, without accents and punctuation: for comparing what people wrote. */
export function plain(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{M}+/gu, "")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

const plainTexts = new WeakMap<SourceDocument, string>();

/** A document's words for comparing, made once: every subject is looked for in every document. */
function plainText(document: SourceDocument): string {
  const known = plainTexts.get(document) ?? ` ${plain(document.text)} `;
  plainTexts.set(document, known);
  return known;
}

/** Whether a text holds another as whole words. */
export function holds(text: string, part: string): boolean {
  const wanted = plain(part);
  return wanted !== "" && ` ${plain(text)} `.includes(` ${wanted} `);
}

function replaceName(question: string, name: string, phrase: string): string | null {
  const at = question.toLowerCase().indexOf(name.toLowerCase());
  if (at < 0) return null;
  return question.slice(0, at) + phrase + question.slice(at + name.length);
}
