/**
 * A model as judge, by the prompt of its name. Its failures (a reply without a verdict, a reply that was cut off, a
 * server that stays down) are not counted as wrong answers: `correct` is null.
 */

import { sleep } from "../../base/work/limiter.ts";
import { retryDelay } from "../../base/work/retry.ts";
import { isAbort, messageOf } from "../../core/errors.ts";
import type { Grade, Grader } from "../../core/grader.ts";
import type { ChatModel } from "../../core/model.ts";
import { exactMatch } from "../grade-qa.ts";
import { fillPrompt, type JudgePrompt, judges, promptHash } from "./judges.ts";

export interface JudgeOptions {
  model: ChatModel;
  /** The judge prompt. Default: our own. @internal */
  prompt?: JudgePrompt;
  /** Max attempts. Default 4. */
  attempts?: number;
  wait?: (attempt: number, signal?: AbortSignal) => Promise<void>;
}

/** Grades with a chat model; binary, with retries. */
export function judgeGrader(options: JudgeOptions): Grader {
  const { model, attempts = 4, wait = (tries, stop) => sleep(retryDelay(tries, undefined), stop) } = options;
  const prompt: JudgePrompt = options.prompt ?? judges.own;
  const scorer = `judge ${prompt.name} ${promptHash(prompt)} by ${model.name}`;
  return async (task, answer, { signal } = {}): Promise<Grade> => {
    if (answer === null || answer.trim() === "") return { correct: false, score: 0, reason: "no answer", scorer };
    const matched = prompt.exactFirst && task.answers.find((gold) => exactMatch(gold, answer, { scoring: "strict" }));
    if (matched) return { correct: true, score: 1, reason: `matches "${matched}"`, scorer };
    const shown = prompt.quoted ? quote : (text: string) => text;
    const gold = task.answers.map(shown).join(prompt.quoted ? ", " : " or ");
    const content = fillPrompt(prompt, { question: shown(task.question), gold, answer: shown(answer) });
    const messages = [
      ...(prompt.system ? [{ role: "system" as const, content: prompt.system }] : []),
      { role: "user" as const, content },
    ];
    let problem = "";
    for (let attempt = 1; attempt <= attempts; attempt++) {
      if (attempt > 1) await wait(attempt - 1, signal);
      try {
        const reply = await model.chat({ messages, json: prompt.json, temperature: prompt.temperature, signal });
        const verdict = prompt.read(reply.text);
        if (verdict) {
          const { correct, reason, confidence } = verdict;
          return { correct, score: correct ? 1 : 0, reason: `judge: ${reason}`, scorer, confidence };
        }
        problem =
          reply.finish === "length"
            ? `the reply was cut off at its token limit: ${reply.text.slice(-80)}`
            : `no verdict in: ${reply.text.slice(0, 120)}`;
      } catch (error) {
        if (isAbort(error) || signal?.aborted) throw error;
        problem = messageOf(error);
      }
    }
    return { correct: null, score: 0, reason: `the judge failed ${attempts} times, last with: ${problem}`, scorer };
  };
}

function quote(text: string): string {
  const limit = 6000;
  return JSON.stringify(text.length > limit ? `${text.slice(0, limit / 2)} … ${text.slice(-limit / 2)}` : text);
}
