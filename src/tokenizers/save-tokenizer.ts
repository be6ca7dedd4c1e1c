/**
 * A tokenizer's files beside a model's weights, so that other programs read the model as we do: the window as the model has it,
 * every special token named (a class that finds one unnamed adds its own, one id beyond the vocabulary), and what ends a turn, without
 * which generation never stops.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { readJsonIfThere } from "../base/files/read-json.ts";
import { asObject } from "../core/json-value.ts";

/** Writes tokenizer.json, tokenizer_config.json and, where there is none yet, generation_config.json. */
export async function saveTokenizer(
  folder: string,
  tokenizerJson: unknown,
  config: Readonly<Record<string, unknown>>,
  ids: { endOfTurn: readonly number[]; specialTokens: ReadonlyMap<string, number> },
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const window = asObject(await readJsonIfThere(join(folder, "config.json")))?.["max_position_embeddings"];
  const unknown = config["unk_token"] ?? config["pad_token"] ?? config["eos_token"];
  const completed = {
    bos_token: null,
    ...config,
    ...(unknown === undefined ? {} : { unk_token: unknown }),
    ...(typeof window === "number" ? { model_max_length: window } : {}),
  };
  await writeFile(join(folder, "tokenizer.json"), `${JSON.stringify(tokenizerJson, null, 1)}\n`);
  await writeJson(join(folder, "tokenizer_config.json"), completed);
  const generation = join(folder, "generation_config.json");
  if (ids.endOfTurn.length === 0 || (await readJsonIfThere(generation))) return;
  const pad = ids.specialTokens.get(textOf(config["pad_token"]) ?? "");
  await writeJson(generation, {
    eos_token_id: ids.endOfTurn.length === 1 ? ids.endOfTurn[0] : [...ids.endOfTurn],
    ...(pad === undefined ? {} : { pad_token_id: pad }),
  });
}

function textOf(token: unknown): string | undefined {
  return typeof token === "string" ? token : (token as { content?: string } | null | undefined)?.content;
}

async function writeJson(path: string, value: unknown): Promise<void> {
  await writeFile(path, `${JSON.stringify(value, null, 2)}\n`);
}
