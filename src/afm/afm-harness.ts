/**
 * The evaluation harness of Agent Foundation Models, so that their published weights run as they were trained and
 * measured: one user message with the published prompt, every step opened with a thought, stops at the closing tags of
 * calls and answers, the third suggested answer taken as the answer, repeated steps kept with a note instead of run, and
 * a full context trimmed to plans, reflections and the newest steps. The code agent has limits and words of its own
 * (`afm-preset.ts`). Observations are made by `language/` as everywhere.
 */

import { randomUUID } from "node:crypto";
import { derivedSeed } from "../base/work/random.ts";
import { errorEnding } from "../core/ending.ts";
import { isAbort, messageOf } from "../core/errors.ts";
import type { Message } from "../core/message.ts";
import type { Model, Price } from "../core/model.ts";
import type { Profile } from "../core/profile.ts";
import type { Task } from "../core/task.ts";
import type { Tool } from "../core/tool.ts";
import {
  type Compaction,
  type Ending,
  looseText,
  type Segment,
  type Trajectory,
  writtenForm,
} from "../core/trajectory.ts";
import { addCall, callCost, emptyUsage } from "../core/usage.ts";
import { readCallBody } from "../language/call-body.ts";
import { errorText, joinOutputs, observation, outputText, tokenCounter } from "../language/observation.ts";
import { tagNames, tagSpec } from "../language/profile.ts";
import { builtInProfiles } from "../language/profiles.ts";
import { tagReader } from "../language/tag-reader.ts";
import { validateSegments } from "../language/validate.ts";
import { afmPreset } from "./afm-preset.ts";

export interface AfmHarnessOptions {
  model: Model;
  tools: readonly Tool[];
  /** Default `web`; `mhqa` and `code` have words of their own, any other profile needs a prompt. */
  profile?: Profile;
  prompt?: string;
  /** Model calls of one run; 36 by default, 12 for `code`. */
  maxSteps?: number;
  /** Tokens of one step; 4,096 by default, 8,192 for `code`. */
  maxTokensPerStep?: number;
  /** Prompt, chain and the next step together; 32,768 by default. */
  totalTokens?: number;
  sampling?: { temperature?: number; topP?: number; topK?: number; seed?: number };
  price?: Price;
  id?: string;
  signal?: AbortSignal;
}

const duplicates = {
  function: "You have previsouly output the same function. Please try to think differently with no more duplications.",
  content: "You have previsouly output the same content. Please try to think differently with no more duplications.",
};

/** Runs one task; nothing that model or tools do throws out of here. */
export async function runAfmHarness(task: Task, options: AfmHarnessOptions): Promise<Trajectory> {
  const { model, signal, price, totalTokens = 32_768 } = options;
  const web = builtInProfiles["web"]!;
  const base = options.profile ?? web;
  const profile: Profile = { ...base, style: { ...base.style, layout: "paper" } };
  const preset = afmPreset(profile);
  const { maxSteps = preset.maxSteps, maxTokensPerStep = preset.maxTokensPerStep } = options;
  const sampling = { ...preset.sampling, ...options.sampling };
  const prompt: Message[] = [{ role: "user", content: preset.ask(task, options.prompt) }];
  const id = options.id ?? `${task.id}-${randomUUID()}`;
  const count = tokenCounter(model);
  const segments: Segment[] = [];
  const compactions: Compaction[] = [];
  const dropped = new Set<number>();
  const usage = emptyUsage();
  const steps: string[] = [];
  const suggested: string[] = [];
  let seenTokens = 0; // of the next call, what the last one already processed
  const seen = () => segments.map((segment, index) => (dropped.has(index) ? "" : writtenForm(segment))).join("");
  const calls = profile.tags.filter((tag) => tag.tool !== undefined).map((tag) => tag.name);
  const ends = [...calls, profile.answer, ...(profile.suggestedAnswer ? [profile.suggestedAnswer] : [])];
  const { opening } = preset;
  let answer: string | null = null;
  let ending: Ending = { reason: "limit", detail: "maxSteps" };
  const began = performance.now();
  try {
    await model.prepare?.(signal);
    for (let step = 0, failures = 0; step < maxSteps && answer === null; ) {
      signal?.throwIfAborted();
      const room = totalTokens - maxTokensPerStep - count(prompt[0]!.content) - 512;
      const trimmed = trim(profile, segments, dropped, room, count);
      if (trimmed.length > 0) {
        seenTokens = count(prompt[0]!.content);
        compactions.push({
          beforeCall: usage.modelCalls,
          fromSegment: segments.length,
          replaced: trimmed.map((segment) => ({ segment, text: "", raw: "" })),
        });
      }
      const context = seen();
      const written = await writeStep(context + opening);
      const last = new RegExp(`</(${ends.join("|")})>\\s*$`).exec(written)?.[1];
      if (!last) {
        // Cut off or ended without a call: the step is not kept, and too many of them end the run.
        if (++failures >= 10) {
          ending = { reason: "no-answer", detail: "ten steps without a call or an answer" };
          break;
        }
        continue;
      }
      step++;
      const content = opening + written;
      const move = written.split(`</${profile.think}>`).at(-1)!.trim();
      const sameFunction = steps.length >= 5 && new Set(steps.slice(-5)).size === 1;
      const repeated = sameFunction ? "function" : context.includes(move) ? "content" : undefined;
      steps.push(last);
      if (repeated && preset.notesRepeats) {
        const name = repeated.toUpperCase();
        read(`${opening}|<BEGIN_OF_DUPLICATE_${name}>|${written}|<END_OF_DUPLICATE_${name}>|${duplicates[repeated]}`);
        continue;
      }
      read(content);
      const body = segments.findLast((segment) => segment.tag === last && segment.by === "model")?.text.trim() ?? "";
      if (last === profile.answer || (last === profile.suggestedAnswer && suggested.length >= 2)) {
        answer = body;
        ending = { reason: last === profile.answer ? "answered" : "suggested" };
      } else if (last === profile.suggestedAnswer) suggested.push(body);
      else await callTool(last, body);
    }
    if (answer === null && suggested.length > 0 && ending.reason === "limit") {
      answer = suggested.at(-1)!;
      ending = { reason: "suggested", detail: "maxSteps" };
    }
  } catch (error) {
    ending = signal?.aborted || isAbort(error) ? { reason: "aborted", detail: messageOf(error) } : errorEnding(error);
  }
  usage.wallMs = performance.now() - began;
  return {
    version: 1,
    id,
    taskId: task.id,
    ...(task.family === undefined ? {} : { family: task.family }),
    profile: profile.name,
    language: { profile, tools: [] },
    model: model.name,
    prompt,
    segments,
    ...(compactions.length > 0 ? { compactions } : {}),
    answer,
    ending,
    usage,
    violations: validateSegments(profile, segments, { partial: answer === null }),
    source: { kind: "chain" },
  };

  async function writeStep(text: string): Promise<string> {
    let written = "";
    const tokens = model.tokenizer && [
      ...model.tokenizer.encodePrompt(prompt),
      ...model.tokenizer.encodeWithSpecials(text),
    ];
    const seed = sampling.seed === undefined ? {} : { seed: derivedSeed(sampling.seed, usage.modelCalls) };
    const stop = ends.map((tag) => `</${tag}>`);
    const request = {
      prompt,
      text,
      tokens,
      stop,
      maxTokens: maxTokensPerStep,
      ...sampling,
      ...seed,
      sessionKey: id,
      signal,
    };
    for await (const event of model.continue(request)) {
      if (event.type === "delta") written += event.text;
      else {
        addCall(usage, event.usage, { seenTokens, costUsd: callCost(event.usage, price) });
        seenTokens = event.usage.promptTokens + event.usage.completionTokens;
      }
    }
    return written;
  }

  /** Takes what the model wrote apart and appends it. */
  function read(text: string): void {
    const reader = tagReader(
      { tags: tagNames(profile), verbatim: calls },
      {
        close({ tag, text: body, lead, closed }) {
          const raw = tag === looseText ? `${lead}${body}` : `${lead}<${tag}>${body}${closed ? `</${tag}>` : ""}`;
          segments.push({ tag, text: body, by: "model", raw });
        },
      },
    );
    reader.write(text);
    const rest = reader.end();
    if (rest !== "" && segments.length > 0) segments.at(-1)!.raw += rest;
  }

  async function callTool(tag: string, body: string): Promise<void> {
    const spec = tagSpec(profile, tag)!;
    const tool = options.tools.find(({ name }) => name === spec.tool);
    const started = performance.now();
    const calling = { tool: spec.tool!, input: body as unknown, ok: false, ms: 0 };
    let text = errorText(spec.tool!, "there is no such tool here");
    const inputs = tool && (await readCallBody(spec, tool, body));
    if (tool && inputs && !inputs.ok) text = `error: ${inputs.message}`;
    else if (tool && inputs?.ok) {
      usage.toolCalls += inputs.inputs.length;
      calling.input = inputs.inputs.length === 1 ? inputs.inputs[0] : inputs.inputs;
      try {
        const context = { signal: signal ?? new AbortController().signal, trajectoryId: id, taskId: task.id };
        const thought = segments.findLast((segment) => segment.tag === profile.think)?.text;
        const results = await Promise.all(
          inputs.inputs.map((input) => tool.execute(input, { ...context, question: task.question, thought })),
        );
        text = joinOutputs(results.map(outputText));
        calling.ok = true;
      } catch (error) {
        if (signal?.aborted || isAbort(error)) throw error;
        text = errorText(spec.tool!, messageOf(error));
      }
    }
    calling.ms = performance.now() - started;
    usage.toolMs += calling.ms;
    segments.push({ ...observation(profile, text, "tool").segment, call: calling });
  }
}

/** Drops the oldest segments that are neither plan nor reflection until the rest has room; returns what was dropped now. */
function trim(
  profile: Profile,
  segments: readonly Segment[],
  dropped: Set<number>,
  room: number,
  count: (text: string) => number,
): number[] {
  const sizes = segments.map((segment, index) => (dropped.has(index) ? 0 : count(writtenForm(segment))));
  let size = sizes.reduce((sum, one) => sum + one, 0);
  const now: number[] = [];
  const kept = new Set(["plan", "reflection"]);
  for (const [index, segment] of segments.entries()) {
    if (size <= room || index >= segments.length - 2) break;
    if (dropped.has(index) || (kept.has(segment.tag) && segment.tag !== profile.observation)) continue;
    size -= sizes[index]!;
    dropped.add(index);
    now.push(index);
  }
  return now;
}
