/** What is shown in a few lines: an index, a world, tasks, profiles, benchmarks, any other file of ours. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { readJson } from "../../base/files/read-json.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { fileKindOf } from "../../base/files/record-kind.ts";
import { UsageError } from "../../core/errors.ts";
import type { Task } from "../../core/task.ts";
import { loadGguf } from "../../engines/embedded/files/gguf-model.ts";
import { loadModelFolder } from "../../engines/embedded/files/model-folder.ts";
import { configToHuggingFace } from "../../engines/embedded/model/config.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";
import type { Profile } from "../../language/profile.ts";
import { systemPrompt } from "../../language/system-prompt.ts";
import { benchmarks } from "../../tasks/benchmarks/benchmarks.ts";
import { loadTasks } from "../../tasks/benchmarks/load-tasks.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { loadIndex } from "../../tools/local-index/index-file.ts";
import { snippetOf } from "../../tools/search/index-provider.ts";
import { chooseProfile, namedProfiles } from "../choose-profile.ts";
import { table } from "../output.ts";
import type { View } from "./shown.ts";

const hitsShown = 5;

/** Shows a search index; an item is words to search for. */
export const showIndex: View = async (folder, { item, out }) => {
  const index = await loadIndex(folder);
  try {
    if (item === undefined)
      return {
        json: { folder, passages: index.size },
        text: `${index.size} passages: ${folder}`,
        notes: [`search it: coa show ${folder} "…"`],
      };
    const started = performance.now();
    const hits = index.search(item, hitsShown);
    const ms = performance.now() - started;
    const texts = hits.map(({ document, score }, at) => {
      const title = out.style("bold", document.title || document.id);
      const head = `${at + 1}. ${title}  ${score.toFixed(2)}${document.url ? `  ${document.url}` : ""}`;
      return `${head}\n   ${snippetOf(document.text, item, 40)}`;
    });
    return {
      json: { query: item, ms, hits },
      text: texts.join("\n"),
      notes: [`${hits.length} of ${index.size} passages in ${ms.toFixed(1)} ms`],
    };
  } finally {
    index.close();
  }
};

export const showWorld: View = async (folder) => {
  const world = (await readJson(join(folder, "world.json"))) as { seed: number; pages: number; split: string };
  const { seed, pages, split } = world;
  return {
    json: { folder, ...world },
    text: `a made-up world of ${pages} pages, seed ${seed}, for ${split === "test" ? "testing" : "training"}: ${folder}`,
    notes: [
      `tasks about it: coa lab tasks --seed ${seed} --split ${split}${pages === 600 ? "" : ` --set lab.pages=${pages}`}`,
    ],
  };
};

/** Shows a file of tasks; an item is a task's id. */
export const showTasks: View = async (file, { item, all }) => {
  const tasks = await loadTasks(file, { allowMissingGolds: true });
  const chosen = item === undefined ? tasks : tasks.filter(({ id }) => id === item);
  if (chosen.length === 0) throw new UsageError(`${file} has no task "${item}"`);
  const row = ({ id, family, question, answers }: Task) => [id, family ?? "", question, answers.join(" or ")];
  const families = Map.groupBy(tasks, ({ family }) => family ?? "no family");
  const shown = all || item !== undefined ? chosen : chosen.slice(0, 5);
  return {
    json: all || item !== undefined ? chosen : { tasks: tasks.length, families: countsOf(families) },
    text: [
      ...(item === undefined ? [`${tasks.length} tasks: ${wordsOf(countsOf(families))}`] : []),
      table(shown.map(row)),
    ].join("\n"),
    notes: shown.length < chosen.length ? [`the first ${shown.length}; all of them: --items`] : [],
  };
};

/** Shows any other JSONL file: how many lines of what. */
export const showLines: View = async (file) => {
  const lines = await readAllJsonl<unknown>(file);
  const counts = countsOf(Map.groupBy(lines, fileKindOf));
  return { json: { file, lines: lines.length, kinds: counts }, text: `${lines.length} lines: ${wordsOf(counts)}` };
};

/** Shows one profile with its system prompt, or all of them. */
export const showProfile: View = async (name) => {
  if (name !== "profiles") {
    const profile = await chooseProfile(name);
    const prompt = systemPrompt(profile);
    return { json: { ...profile, systemPrompt: prompt }, text: `${profileText(profile)}\n\n${prompt}` };
  }
  const profiles = Object.values(namedProfiles);
  return { json: profiles, text: profiles.map(profileText).join("\n\n") };
};

function profileText({ name, purpose, tags }: Profile): string {
  const rows = tags.map((tag) => [tag.name, tag.tool ? "tool" : "role", tag.think, tag.next.join(", ") || "(end)"]);
  return `${name}: ${purpose}\n${table([["tag", "kind", "think", "may be followed by"], ...rows])}`;
}

/** Shows the benchmarks whose files can be read. */
export const showBenchmarks: View = async () => {
  const list = benchmarks.map(({ name, title, kind, metric, origin }) => ({ name, title, kind, metric, origin }));
  return {
    json: list,
    text: table([["benchmark", "title", "grader", "figure", "files"], ...list.map((one) => Object.values(one))]),
  };
};

function countsOf(groups: ReadonlyMap<string, readonly unknown[]>): Record<string, number> {
  return Object.fromEntries([...groups].map(([name, { length }]) => [name, length]));
}

function wordsOf(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

/** Shows a model folder or a GGUF file; its items are its tensors. */
export const showModel: View = async (path, { all }) => {
  const model = path.endsWith(".gguf") ? await loadGguf(path) : await loadModelFolder(path, { later: true });
  const { config, parameters } = model;
  const tokenized = "folder" in model && existsSync(join(model.folder, "tokenizer.json"));
  const tokenizer = tokenized ? await loadTokenizer(model.folder) : undefined;
  const count = parameterCount(config);
  const tensors = [...parameters].map(([name, { shape, data }]) => {
    const largest = data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return { name, shape, largest };
  });
  const broken = tensors.filter(({ largest }) => !Number.isFinite(largest)).map(({ name }) => name);
  const rows = [
    ["architecture", config.architecture],
    ["parameters", `${count.toLocaleString("en")} (${(count / 2 ** 18).toFixed(1)} MiB as f32)`],
    ["layers", String(config.layers)],
    ["hidden, inner", `${config.hiddenSize}, ${config.intermediateSize}`],
    ["heads", `${config.heads} of size ${config.headSize}, ${config.kvHeads} for keys and values`],
    ["vocabulary", `${config.vocabularySize}, output ${config.tieEmbeddings ? "tied to" : "apart from"} the embedding`],
    ["context", String(config.maxContext)],
    ["rope theta, eps", `${config.ropeTheta}, ${config.rmsEpsilon}`],
    ["tokenizer", tokenizer ? `${tokenizer.vocabularySize} tokens, ${tokenizer.specialTokens.size} special` : "none"],
  ];
  const listed = tensors.map(({ name, shape, largest }) => [name, `[${shape}]`, `|w| <= ${largest.toPrecision(4)}`]);
  return {
    json: {
      path,
      config: configToHuggingFace(config),
      parameters: count,
      broken,
      tokenizer: tokenizer ? { size: tokenizer.vocabularySize, special: [...tokenizer.specialTokens.keys()] } : null,
      ...(all && { tensors }),
    },
    text: [table(rows), ...(all ? [table(listed)] : [])].join("\n"),
    notes: broken.map((name) => `tensor ${name} holds numbers that are not finite`),
    broken: broken.length > 0,
  };
};
