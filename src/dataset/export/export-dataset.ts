/**
 * Writes trajectories or tasks as files for other trainers. Each format is a table entry: what it reads, which files it
 * writes. What a format can't hold is skipped and counted with its reason.
 */
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { checkOptions } from "../../base/work/check-options.ts";
import { UsageError } from "../../core/errors.ts";
import { changeTexts } from "../../core/json-value.ts";
import type { Task } from "../../core/task.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { plainFor } from "../../language/observation.ts";
import { type Profile, tagNames } from "../../language/profile.ts";
import { generationTemplate, type RenderConversation } from "../../tokenizers/conversation-template.ts";
import type { ExampleOptions } from "../trajectory-to-example.ts";
import { afmAlpacaRow, chatRow, llamaFactoryInfo, type Row, shareGptRow, trlRow, verlTaskRow } from "./formats.ts";
import { openAiToolsRow, type ToolsRow } from "./tool-messages.ts";

/** The formats by name: what each is for, and whether it is made of trajectories or of tasks. */
export const exportFormats = {
  chat: {
    of: "trajectories",
    about: "chat messages as JSONL, also for OpenAI's fine-tuning: observations are user (or tool) turns",
  },
  "llama-factory": { of: "trajectories", about: "sharegpt JSONL with observation turns, and dataset_info.json" },
  "afm-alpaca": {
    of: "trajectories",
    about: "instruction, input and output for the fork of Agent Foundation Models with ignore_observation",
  },
  trl: {
    of: "trajectories",
    about: "pre-tokenised input_ids and labels as JSONL for TRL, and for LLaMA-Factory's tokenized_path",
  },
  "openai-tools": {
    of: "trajectories",
    about:
      "messages with tool_calls, and tools, as JSONL; with --tokenizer also rendered through the model's chat template, for TRL's assistant_only_loss",
  },
  "verl-rl": { of: "tasks", about: "prompts with ground truth as JSONL for verl's RL" },
} as const;
export type ExportFormat = keyof typeof exportFormats;

export interface ExportOptions extends ExampleOptions {
  format: keyof typeof exportFormats;
  folder: string;
  name?: string;
  /** Needed by `trl`. */
  tokenizer?: Tokenizer;
  /** The model's chat template: conversations that it would not show as they are stop the export with an error. @internal */
  render?: RenderConversation;
  observationRole?: "user" | "tool";
  /** Profile whose system prompt goes into RL prompts. */
  profile?: Profile;
  split?: string;
  signal?: AbortSignal;
}

/** Writes trajectories (or tasks, for a format of RL) as the files of a format; `skipped` counts what was left out, by reason. */
export async function exportDataset(
  data: AsyncIterable<Trajectory | Task> | Iterable<Trajectory | Task>,
  options: ExportOptions,
): Promise<{ files: string[]; rows: number; skipped: Record<string, number> }> {
  checkOptions("exportDataset", options);
  const { format, folder, name = "chains" } = options;
  await mkdir(folder, { recursive: true });
  const result = { files: [] as string[], rows: 0, skipped: {} as Record<string, number> };
  const rows = countedRows(data, options, result);
  const add = (file: string): string => {
    result.files.push(join(folder, file));
    return join(folder, file);
  };
  if (format === "afm-alpaca") await writeJsonArray(add(`${name}.json`), rows);
  else if (format === "openai-tools" && options.render) {
    const rendered = createWriteStream(add(`${name}.rendered.jsonl`));
    const both = async function* () {
      for await (const row of rows as AsyncIterable<Record<string, unknown> & ToolsRow>) {
        const messages = options.render!(row.messages, row.tools);
        if (!rendered.write(`${JSON.stringify({ messages })}\n`)) await once(rendered, "drain");
        yield row;
      }
    };
    await writeLines(add(`${name}.jsonl`), both());
    rendered.end();
    await once(rendered, "close");
    await writeFile(add(`${name}.template.jinja`), generationTemplate);
  } else await writeLines(add(`${name}.jsonl`), rows);
  if (format === "llama-factory") await addToDatasetInfo(add("dataset_info.json"), name);
  return result;
}

async function* countedRows(
  data: AsyncIterable<Trajectory | Task> | Iterable<Trajectory | Task>,
  options: ExportOptions,
  result: { rows: number; skipped: Record<string, number> },
): AsyncGenerator<Record<string, unknown>> {
  for await (const made of formatRows(data, options)) {
    options.signal?.throwIfAborted();
    if (made.row === undefined) result.skipped[made.skipped] = (result.skipped[made.skipped] ?? 0) + 1;
    else {
      result.rows++;
      yield made.row as Record<string, unknown>;
    }
  }
}

async function* formatRows(
  data: AsyncIterable<Trajectory | Task> | Iterable<Trajectory | Task>,
  options: ExportOptions,
): AsyncGenerator<Row<object>> {
  const { format, tokenizer } = options;
  const { of } = exportFormats[format];
  const plain = plainTrajectories(tokenizer);
  const plainText = plainFor({ tokenizer });
  let index = 0;
  for await (const given of data) {
    if ((of === "tasks") === "segments" in given)
      throw new UsageError(
        `the ${format} format is made of ${of}, not of ${of === "tasks" ? "trajectories" : "tasks"}`,
      );
    if (!("segments" in given)) {
      yield verlTaskRow({ ...given, question: plainText(given.question) }, index++, options);
      continue;
    }
    const trajectory = format === "trl" ? given : plain(given);
    if (format === "llama-factory") yield shareGptRow(trajectory);
    else if (format === "openai-tools") {
      const made = openAiToolsRow(trajectory);
      yield made.row ? { row: changeTexts(made.row, plainFor({ tokenizer })) } : made; // calls and tools too
    } else if (format === "afm-alpaca") yield afmAlpacaRow(trajectory);
    else if (format === "trl") {
      if (!tokenizer) throw new UsageError(`the ${format} format holds token ids: give the model's tokenizer`);
      const row = trlRow(trajectory, tokenizer, options);
      // Lengths differ from one to the next; the reason alone is what is counted.
      yield row.row ? row : { skipped: row.skipped!.split(":")[0]! };
    } else {
      const made = chatRow(trajectory, options);
      if (made.row) options.render?.(made.row.messages);
      yield made;
    }
  }
}

async function writeLines(file: string, rows: AsyncIterable<object>): Promise<void> {
  async function* lines() {
    for await (const row of rows) yield `${JSON.stringify(row)}\n`;
  }
  await pipeline(lines(), createWriteStream(file));
}

async function writeJsonArray(file: string, rows: AsyncIterable<object>): Promise<void> {
  async function* parts() {
    let separator = "[\n";
    for await (const row of rows) {
      yield separator + JSON.stringify(row);
      separator = ",\n";
    }
    yield separator === "[\n" ? "[]\n" : "\n]\n";
  }
  await pipeline(parts(), createWriteStream(file));
}

/** Keeps the other entries of a `dataset_info.json` that is already there. */
async function addToDatasetInfo(file: string, name: string): Promise<void> {
  const text = await readFile(file, "utf8").catch(() => "{}");
  let info: Record<string, unknown>;
  try {
    info = JSON.parse(text);
  } catch {
    throw new UsageError(`${file} is there but is not JSON; repair or move it`);
  }
  info[name] = llamaFactoryInfo(`${name}.jsonl`);
  await writeFile(file, `${JSON.stringify(info, null, 2)}\n`);
}

/**
 * Another trainer tokenises a text again, and there every special string in it becomes a special token. So what is exported as
 * text holds none: the tags of the chain itself are all the structure that is left.
 */
export function plainTrajectories(tokenizer: Tokenizer | undefined): (trajectory: Trajectory) => Trajectory {
  const known = new Map<string, (text: string) => string>();
  return (trajectory) => {
    const { language, segments, prompt } = trajectory;
    const kept = language ? tagNames(language.profile) : [...new Set(segments.map(({ tag }) => tag))];
    const key = kept.join(" ");
    const plain = known.get(key) ?? plainFor({ tokenizer }, kept);
    known.set(key, plain);
    return {
      ...trajectory,
      prompt: prompt.map((message) => ({ ...message, content: plain(message.content) })),
      segments: segments.map((segment) => ({
        ...segment,
        text: plain(segment.text),
        ...(segment.raw !== undefined && { raw: plain(segment.raw) }),
      })),
    };
  };
}
