/**
 * One line of each format that other trainers read. Every function takes a trajectory (or a task) and returns the row, so
 * that a format can be read in one screen and tested without files. In all of them only what the model wrote is learned.
 */

import type { Task } from "../../core/task.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import { type Trajectory, trajectoryText, writtenForm } from "../../core/trajectory.ts";
import type { Profile } from "../../language/profile.ts";
import { systemPrompt } from "../../language/system-prompt.ts";
import { weightsOf } from "../training-sequence.ts";
import { type ExampleOptions, trajectoryToSequence } from "../trajectory-to-example.ts";
import { conversationTurns, promptTexts, severalContexts } from "./chain-turns.ts";

/** A row, or why there is none. */
export type Row<T> = { row: T; skipped?: undefined } | { row?: undefined; skipped: string };

export interface ChatMessage {
  role: "system" | "user" | "assistant" | "tool";
  content: string;
}

/** Chat JSONL: observations are turns of their own, so that no trainer learns them. */
export function chatRow(
  trajectory: Trajectory,
  options: { observationRole?: "user" | "tool" } = {},
): Row<{ messages: ChatMessage[] }> {
  const found = conversationTurns(trajectory);
  if ("skipped" in found) return found;
  const observationRole = options.observationRole ?? "user";
  const { system, user } = promptTexts(trajectory.prompt);
  const messages: ChatMessage[] = system === "" ? [] : [{ role: "system", content: system }];
  messages.push({ role: "user", content: user });
  for (const turn of found.turns) {
    messages.push({ role: turn.author === "model" ? "assistant" : observationRole, content: turn.text });
  }
  return { row: { messages } };
}

export interface ShareGptRow {
  conversations: { from: "human" | "gpt" | "observation"; value: string }[];
  system: string;
}

/** LLaMA-Factory's sharegpt: human and observation at odd places, gpt at even ones; only gpt is learned. */
export function shareGptRow(trajectory: Trajectory): Row<ShareGptRow> {
  const found = conversationTurns(trajectory);
  if ("skipped" in found) return found;
  const { system, user } = promptTexts(trajectory.prompt);
  const conversations: ShareGptRow["conversations"] = [{ from: "human", value: user }];
  for (const turn of found.turns) {
    conversations.push({ from: turn.author === "model" ? "gpt" : "observation", value: turn.text });
  }
  return { row: { conversations, system } };
}

/** The entry of LLaMA-Factory's `dataset_info.json` that says how to read the file. */
export function llamaFactoryInfo(fileName: string): Record<string, unknown> {
  return {
    file_name: fileName,
    formatting: "sharegpt",
    columns: { messages: "conversations", system: "system" },
    tags: {
      role_tag: "from",
      content_tag: "value",
      user_tag: "human",
      assistant_tag: "gpt",
      observation_tag: "observation",
      function_tag: "function_call",
      system_tag: "system",
    },
  };
}

export interface TrlRow {
  input_ids: number[];
  /** The same ids, -100 where nothing is learned; the trainer shifts them itself. */
  labels: number[];
}

/** Pre-tokenised rows for TRL's `SFTTrainer` with `skip_prepare_dataset`: exact masks, no template guessing. */
export function trlRow(trajectory: Trajectory, tokenizer: Tokenizer, options: ExampleOptions = {}): Row<TrlRow> {
  const several = severalContexts(trajectory);
  if (several) return { skipped: several };
  const { sequence, dropped } = trajectoryToSequence(trajectory, tokenizer, options);
  if (!sequence) return { skipped: `${dropped.reason}: ${dropped.detail}` };
  const weights = weightsOf(sequence);
  const labels = sequence.tokens.map((token, index) => (weights[index] === 0 ? -100 : token));
  return { row: { input_ids: sequence.tokens, labels } };
}

export interface AfmAlpacaRow {
  instruction: string;
  input: string;
  output: string;
  system?: string;
}

/**
 * The alpaca form of Agent Foundation Models, for its fork of LLaMA-Factory with `ignore_observation`. The fork looks
 * for a closing observation tag with an empty line after it and drops an example where there is none, so chains that
 * were run in another layout are left out here, with the reason, rather than there, in silence.
 */
export function afmAlpacaRow(trajectory: Trajectory): Row<AfmAlpacaRow> {
  const found = conversationTurns(trajectory);
  if ("skipped" in found) return found;
  const segments = trajectory.segments.slice(0, found.turns.at(-1)!.segments.at(-1)! + 1);
  const spaced = segments.every((segment) => segment.by === "model" || /<\/\w+>\n\n$/.test(writtenForm(segment)));
  if (!spaced) return { skipped: "an observation is not followed by an empty line (layout paper)" };
  const { system, user } = promptTexts(trajectory.prompt);
  const output = trajectoryText(segments);
  return { row: { instruction: user, input: "", output, ...(system === "" ? {} : { system }) } };
}

export interface VerlTaskRow {
  data_source: string;
  agent_name: string;
  prompt: { role: "system" | "user"; content: string }[];
  ability: string;
  reward_model: { style: "rule"; ground_truth: string };
  extra_info: {
    split: string;
    index: number;
    task_id: string;
    question: string;
    answer: string;
    need_tools_kwargs: boolean;
  };
}

/** A task as verl's RL data: the prompt of the profile, and the ground truth for its reward function. */
export function verlTaskRow(
  task: Task,
  index: number,
  options: { profile?: Profile; split?: string } = {},
): Row<VerlTaskRow> {
  if (task.answers.length === 0 && !task.tests) return { skipped: `task ${task.id} has neither answers nor tests` };
  // One string column serves all kinds: the answer itself, or JSON where there are several answers or tests.
  const truth = task.tests
    ? JSON.stringify(task.tests)
    : task.answers.length === 1
      ? task.answers[0]!
      : JSON.stringify(task.answers);
  const prompt: VerlTaskRow["prompt"] = [{ role: "user", content: task.question }];
  if (options.profile) prompt.unshift({ role: "system", content: systemPrompt(options.profile) });
  return {
    row: {
      data_source: task.source ?? task.family ?? "chain-of-agents",
      agent_name: "chain_of_agents",
      prompt,
      ability: task.kind,
      reward_model: { style: "rule", ground_truth: truth },
      extra_info: {
        split: options.split ?? "train",
        index,
        task_id: task.id,
        question: task.question,
        answer: task.answers[0] ?? "",
        need_tools_kwargs: false,
      },
    },
  };
}
