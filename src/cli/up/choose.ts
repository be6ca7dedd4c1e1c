/** What `coa up` will do, read from its flags: which student, who plays the team, with what tools, for how much money. */
import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { isInstalled, missingPeer } from "../../base/work/optional-peer.ts";
import { UsageError } from "../../core/errors.ts";
import { loadModelConfig } from "../../engines/embedded/files/model-folder.ts";
import { modelConfig } from "../../engines/embedded/model/config.ts";
import { parameterCount } from "../../engines/embedded/model/parameters.ts";
import { shippedModel } from "../../lab/quickstart/open-model.ts";
import type { Options, Values } from "../command.ts";
import { findModel } from "../find-model.ts";
import { openFlag } from "../open-file.ts";
import { text, toggle, whole } from "../setting.ts";
import { type SectionName, type Settings, sections, settingArguments } from "../settings/index.ts";
import { priceOf } from "../spending.ts";
import type { Student, UpChoices } from "./up-plan.ts";

/** Flags of `coa up`. */
export const upFlags = {
  questions: whole("Questions to write about documents", { default: 120, valueName: "n" }),
  tasks: text("Questions with their right answers, where you have them", { valueName: "file" }),
  "assume-right": toggle("Traces: count answers without a judgement as right; reports call them assumed"),
  student: text("shipped (the small model of this package, which can read), tiny or small (new models from scratch), or the folder or name of a real base model", { default: "small", valueName: "what", group: "model" }),
  steps: whole("Updates of training (default: from the data)", { valueName: "n", group: "limits" }),
  yes: toggle("Do not ask before models are called, nor stop at twice the estimate", { group: "limits" }),
  "dry-run": toggle("Print the plan and the estimate, and spend nothing", { group: "output" }),
  out: text("Where everything goes (default: up-<name> in the workspace)", { valueName: "folder", group: "output" }),
  open: openFlag,
  engine: sections.engine.settings.kind,
  "engine-url": sections.engine.settings.url,
  "base-model": sections.engine.settings.baseModel,
  lora: whole("Rank of the adapter that a real base model gets", { default: 16, valueName: "rank", group: "model" }),
} as const satisfies Options; // biome-ignore format: one flag a line

export type UpValues = Values<typeof upFlags>;

/** Sections that `coa up` reads, and hands on to its commands. */
export const upSections = ["up", "model", "team", "tools", "judge", "spending"] as const satisfies SectionName[];

export type UpSettings = Settings<(typeof upSections)[number]>;

const sizes = {
  tiny: { kind: "scratch", name: "tiny", hidden: 64, layers: 2, heads: 2, vocabulary: 512, context: 2048 },
  small: { kind: "scratch", name: "small", hidden: 128, layers: 4, heads: 4, vocabulary: 1024, context: 4096 },
} as const satisfies Record<string, Student>;

/** Reads the flags, and refuses what is known to fail before anything is spent. */
export async function chooseUp(values: UpValues, settings: UpSettings): Promise<Omit<UpChoices, "folder" | "others">> {
  const { model, team, tools, judge, spending, up } = settings;
  if (spending.maxUsd !== undefined && priceOf(spending.price) === undefined)
    throw new UsageError("--max-usd needs to know what tokens cost: give --price <in,out>, or set it in coa.config.ts");
  if (values.tasks !== undefined && !existsSync(values.tasks))
    throw new UsageError(`--tasks ${values.tasks}: there is no such file`);
  for (const file of tools.modules)
    if (!existsSync(file)) throw new UsageError(`--tool ${file}: there is no such file`);
  const student = await chooseStudent(values);
  if (student.kind !== "server" && !isInstalled("onnxruntime-node")) throw missingPeer("onnxruntime-node");
  return {
    student,
    questions: values.questions,
    heldOut: up.heldOut,
    tasks: values.tasks,
    players: [...settingArguments("model", model, ["model", "base-url"]), ...settingArguments("team", team, ["role"])],
    spending: settingArguments("spending", spending, ["price"]),
    // The documents, or the recording, are named by the plan.
    tools: settingArguments("tools", { ...tools, docs: undefined, index: undefined, recorded: undefined }, [
      "tools",
      "tool",
      "mcp",
    ]),
    judge: settingArguments("judge", judge, ["judge-model", "judge-url"]),
    assumeRight: values["assume-right"],
    steps: values.steps,
    rlSteps: up.rlSteps,
  };
}

async function chooseStudent(values: UpValues): Promise<Student> {
  const { student: named } = values;
  const far = values.engine === "tinker";
  const { lora: rank } = values;
  if (named === "tiny" || named === "small") {
    if (far)
      throw new UsageError(
        "--engine tinker trains a real base model: give its tokenizer's folder with --student <folder>",
      );
    return sizes[named];
  }
  const name = basename(resolve(named))
    .toLowerCase()
    .replace(/[^\w.-]+/g, "-");
  if (named === "shipped" && !far) {
    const { maxContext } = await loadModelConfig(shippedModel);
    return { kind: "shipped", name, folder: shippedModel, context: maxContext };
  }
  if (far)
    return {
      kind: "server",
      name,
      folder: named,
      rank,
      flags: typedFlags({
        engine: values.engine,
        "engine-url": values["engine-url"],
        "base-model": values["base-model"],
      }),
      weightsHere: existsSync(join(named, "model.safetensors")),
    };
  const found = await findModel({ name: named }, { lab: false });
  if (found.kind !== "folder") throw new UsageError(`--student ${named} is not a model folder: it has no config.json`);
  return { kind: "folder", name, folder: found.folder, rank };
}

export function studentText(student: Student): string {
  if (student.kind === "scratch")
    return "Student: a small new model from scratch. It learns this workspace's format and its tools, not language; for a model that knows language give a real one with --student <folder>.";
  if (student.kind === "shipped")
    return `Student: the model of this package (2 million weights). It can search, read and copy in up to ${student.context} tokens, and knows no language; for longer documents or real questions give a real one with --student <folder>.`;
  const how = `as a LoRA adapter of rank ${student.rank}`;
  return student.kind === "folder"
    ? `Student: ${student.folder}, ${how}, trained on this machine.`
    : `Student: on a Tinker server, ${how}.`;
}

/** How many parameters it has; undefined where that is the server's to know. */
export async function studentParameters(student: Student): Promise<number | undefined> {
  if (student.kind === "server") return undefined;
  if (student.kind !== "scratch") return parameterCount(await loadModelConfig(student.folder));
  const { vocabulary, hidden, layers, heads, context } = student;
  return parameterCount(
    modelConfig({
      architecture: "qwen2",
      vocabularySize: vocabulary,
      hiddenSize: hidden,
      layers,
      heads,
      maxContext: context,
    }),
  );
}

function typedFlags(values: Record<string, string | number | readonly string[] | undefined>): string[] {
  return Object.entries(values).flatMap(([name, value]) =>
    [value ?? []].flat().flatMap((one) => [`--${name}`, String(one)]),
  );
}
