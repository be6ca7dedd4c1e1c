/** Finds a question, its answers and its names in a row, under the spellings that datasets use. */
import { parseJson } from "../../core/json-value.ts";
import type { Row } from "./read-rows.ts";

/** The first of several fields that holds something. */
export function pick(row: Row, ...names: string[]): unknown {
  for (const name of names) {
    const value = row[name];
    if (value !== undefined && value !== null && value !== "") return value;
  }
  return undefined;
}

/** The same as text, where it is text or a number. */
export function pickText(row: Row, ...names: string[]): string | undefined {
  const value = pick(row, ...names);
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

/** An object inside a row; a JSON string of one counts. */
export function pickObject(row: Row, ...names: string[]): Row | undefined {
  const value = pick(row, ...names);
  const read = typeof value === "string" ? parseJson(value) : value;
  return read !== null && typeof read === "object" && !Array.isArray(read) ? (read as Row) : undefined;
}

/** Every accepted answer in a field: a text, a number, a list, or an object with aliases. */
export function textsOf(value: unknown): string[] {
  if (typeof value === "string") return value.trim() === "" ? [] : [value];
  if (typeof value === "number" || typeof value === "boolean") return [String(value)];
  if (Array.isArray(value)) return [...new Set(value.flatMap(textsOf))];
  if (value !== null && typeof value === "object") {
    // TriviaQA's own release spells its fields with capitals.
    const { value: main, Value, aliases, Aliases, NormalizedAliases, HumanAnswers, target, text } = value as Row;
    return [
      ...new Set([main, Value, text, aliases, Aliases, NormalizedAliases, HumanAnswers, target].flatMap(textsOf)),
    ];
  }
  return [];
}

/** The user's question in a row of the training format of RL frameworks: one long user message, the task at its end. */
export function promptQuestion(row: Row): string | undefined {
  const prompt = row["prompt"];
  const messages = Array.isArray(prompt) ? (prompt as { role?: string; content?: string }[]) : undefined;
  const content =
    typeof prompt === "string" ? prompt : messages?.findLast((message) => message.role === "user")?.content;
  if (content === undefined) return undefined;
  // The instructions of a chain come first; the task follows the last "Task:" or "Question:" that starts a line.
  const marks = [...content.matchAll(/(?:^|\n)(?:Task:[ \n]|\nQuestion: )/g)];
  const mark = marks.at(-1);
  return (mark ? content.slice(mark.index + mark[0].length) : content).trim();
}

/** The ground truth of such a row: an object where it is one (or JSON of one), else its text. */
export function groundTruth(row: Row): unknown {
  const truth = pickObject(row, "reward_model")?.["ground_truth"];
  if (typeof truth !== "string") return truth;
  const read = /^\s*[[{]/.test(truth) ? parseJson(truth) : undefined;
  return read ?? truth;
}
