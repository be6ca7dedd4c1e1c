/**
 * Rewards over HTTP, in the shapes that trainers call: ours (task and trajectory or text), verl's (`solution_str`,
 * `ground_truth`), TRL's (lists of completions) and slime's (a bare number). What a grader could not decide is null,
 * never 0: a trainer must leave it out, not learn from it.
 */

import { Refusal } from "../base/http/refusal.ts";
import { inParallel } from "../base/work/limiter.ts";
import type { Grade, Grader } from "../core/grader.ts";
import { asArray, asObject, asString, type Json, objectsOf } from "../core/json-value.ts";
import type { Task } from "../core/task.ts";
import { trajectorySchema } from "../core/trajectory-schema.ts";
import type { Endpoint } from "./keys.ts";
import { readTask } from "./read-task.ts";
import { type ServedHandler, type ServeOptions, servedHandler } from "./served-handler.ts";

export interface RewardHandlerOptions extends ServeOptions {
  grader: Grader;
  /** Items of one batch that are graded at a time; 8 by default. */
  concurrency?: number;
}

export function rewardHandler(options: RewardHandlerOptions): ServedHandler {
  const { grader, concurrency = 8 } = options;
  const verdictOf = async (item: Json, signal: AbortSignal) => {
    const { task, answer, format } = readItem(item);
    const known = item["task"] !== undefined || task.answers.length > 0;
    return { ...rewardOf(known ? await grader(task, answer, { signal }) : unknownGold), format };
  };
  const all = (items: readonly Json[], signal: AbortSignal) =>
    inParallel(items, concurrency, (item) => verdictOf(item, signal));
  const endpoints: Record<string, Endpoint> = {
    "POST /reward": async ({ request, json }) => verdictOf(await json(), request.signal),
    async "POST /reward/batch"({ request, json }) {
      return { results: await all(objectsOf((await json())["items"]), request.signal) };
    },
    async "POST /reward/verl"({ request, json }) {
      const { reward, ...rest } = await verdictOf(verlItem(await json()), request.signal);
      return { ...rest, score: reward };
    },
    async "POST /reward/trl"({ request, json }) {
      const results = await all(trlItems(await json()), request.signal);
      return { rewards: results.map(({ reward }) => reward) };
    },
    async "POST /reward/slime"({ request, json }) {
      const { response, label, prompt } = await json();
      return (await verdictOf({ question: prompt, text: response, answers: label }, request.signal)).reward;
    },
  };
  return servedHandler(endpoints, options);
}

const unknownGold: Grade = { correct: null, score: 0, reason: "no right answer is known" };

function rewardOf({ correct, score, reason }: Grade) {
  if (correct === null) return { reward: null, correct, score: null, reason };
  return { reward: correct ? 1 : 0, correct, score, reason };
}

/** `format`: whether the chain kept its form; null where only an answer was given. */
function readItem(item: Json): { task: Task; answer: string | null; format: boolean | null } {
  const task = readTask(item, { id: "reward", graded: true });
  if (item["trajectory"] !== undefined) {
    const parsed = trajectorySchema.safeParse(item["trajectory"]);
    if (!parsed.success) throw new Refusal(400, "the trajectory is not one of ours", { param: "trajectory" });
    return { task, answer: parsed.data.answer, format: parsed.data.violations.length === 0 };
  }
  const text = item["text"];
  if (text === null) return { task, answer: null, format: false };
  if (typeof text !== "string") throw new Refusal(400, "give a trajectory or a text", { param: "text" });
  // The last answer of a chain's text; a text without tags is the answer itself.
  const from = text.lastIndexOf("<answer>");
  if (from === -1) return { task, answer: text, format: null };
  const to = text.indexOf("</answer>", from);
  return { task, answer: text.slice(from + 8, to === -1 ? undefined : to).trim(), format: to !== -1 };
}

function verlItem(body: Json): Json {
  const extra = asObject(body["extra_info"]) ?? {};
  return {
    text: body["solution_str"],
    answers: body["ground_truth"],
    question: extra["question"],
    kind: extra["kind"],
    ...(extra["task"] !== undefined && { task: extra["task"] }),
  };
}

/** TRL sends columns: completions beside lists of the same length. A completion may be a list of messages. */
function trlItems(body: Json): Json[] {
  const column = (name: string, index: number) => asArray(body[name])[index];
  return asArray(body["completions"]).map((completion, index) => ({
    text: Array.isArray(completion) ? asString(asObject(completion.at(-1))?.["content"]) : completion,
    answers: column("answers", index) ?? column("answer", index) ?? column("ground_truth", index),
    question: column("questions", index) ?? column("prompts", index),
    kind: column("kinds", index),
  }));
}
