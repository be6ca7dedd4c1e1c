/**
 * Which model a command line means. A folder or a name of a model here (shipped, or in the workspace) is run here; with a
 * server's address, the name is the server's. A key in the environment alone never chooses an outside host.
 */
import { existsSync, statSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { describesModel, isModelFolder, modelFolders } from "../base/files/model-folders.ts";
import { workspaceRoot } from "../base/files/workspace.ts";
import { UsageError } from "../core/errors.ts";
import { printable } from "../core/printable.ts";
import type { Section } from "./settings/index.ts";

/** What names a model: the section `model` of the settings, or a name alone. */
export type NamedBy = Partial<Pick<Section<"model">, "name" | "baseUrl">>;

export type FoundModel =
  | { kind: "folder"; folder: string }
  /** `files`: the folder or GGUF file of the model behind the server, which says how it was taught. */
  | { kind: "server"; baseURL: string | undefined; name: string | undefined; files?: string };

/** Finds the model, or names what to give. `lab` allows the shipped model as a default. A GGUF file becomes a folder first. */
export async function findModel({ name, baseUrl: server }: NamedBy, options: { lab: boolean }): Promise<FoundModel> {
  if (name?.endsWith(".gguf")) {
    if (!existsSync(name)) throw new UsageError(`there is no file ${name}`);
    if (server !== undefined || process.env["OPENAI_BASE_URL"])
      return { kind: "server", baseURL: server, name, files: name };
    return { kind: "folder", folder: await convertedFolder(name) };
  }
  const folder = name === undefined ? undefined : findModelFolder(name);
  if (folder === undefined && name !== undefined && (existsSync(name) || /^[./\\]/.test(name)))
    throw new UsageError(`${name} is not a model folder: it has no config.json`);
  if (server !== undefined) return { kind: "server", baseURL: server, name, files: folder };
  if (folder !== undefined && !isModelFolder(folder))
    throw new UsageError(`${folder} has no weights (*.safetensors): give --base-url for a server that has them`);
  if (folder !== undefined) return { kind: "folder", folder };
  if (options.lab && name === undefined) {
    const [shipped] = shippedModels();
    if (shipped !== undefined) return { kind: "folder", folder: shipped.folder };
  }
  if (process.env["OPENAI_BASE_URL"]) return { kind: "server", baseURL: undefined, name };
  const known = knownModels().map(({ name }) => name);
  if (name !== undefined)
    throw new UsageError(
      `found no model "${name}" here${known.length > 0 ? `; there are ${known.join(", ")}` : ""}. For a model on a server give --base-url too, or set OPENAI_BASE_URL`,
    );
  const key = process.env["OPENAI_API_KEY"] ? " OPENAI_API_KEY is set: --base-url openai uses the public API." : "";
  throw new UsageError(
    `no model: give --model <folder or name>, or --base-url <url> (or set OPENAI_BASE_URL).${key} To try the shipped model in its made-up world: coa ask --lab 7`,
  );
}

/** The folder made of a GGUF file, in the workspace; made anew where the file is newer. */
async function convertedFolder(file: string): Promise<string> {
  const folder = join(workspaceRoot(), "models", basename(file, ".gguf"));
  const made = statSync(join(folder, "config.json"), { throwIfNoEntry: false });
  if (made && made.mtimeMs >= statSync(file).mtimeMs) return folder;
  process.stderr.write(printable(`${file} becomes a model folder, once: ${folder}\n`));
  const { ggufToFolder } = await import("../engines/embedded/files/gguf-model.ts");
  await ggufToFolder(file, folder);
  return folder;
}

export interface NamedModel {
  name: string;
  folder: string;
}

/** Models that come with the package, the newest name first. */
export function shippedModels(weights = resolve(import.meta.dirname, "..", "..", "weights")): NamedModel[] {
  return namedModels(weights).toSorted((a, b) => b.name.localeCompare(a.name));
}

/** The models below a folder by name: `rl` for `rl/model`, `quickstart/sft` for `quickstart/sft/model`, `lab` for `models/lab`. */
function namedModels(root: string): NamedModel[] {
  return modelFolders(root).map((folder) => {
    const name = relative(root, folder).replaceAll("\\", "/");
    return { name: name.replace(/^models\//, "").replace(/\/model$/, ""), folder };
  });
}

/** Models that have a name here: the shipped ones and those of the workspace. */
export function knownModels(): NamedModel[] {
  return [...shippedModels(), ...namedModels(workspaceRoot())];
}

/** A folder given as such, or by a model's name; `rl` finds `quickstart/rl` when no other name ends so. */
export function findModelFolder(name: string): string | undefined {
  if (describesModel(name)) return name;
  const known = knownModels();
  const exact = known.find((model) => model.name === name);
  if (exact) return exact.folder;
  const ending = known.filter((model) => model.name.endsWith(`/${name}`));
  if (ending.length > 1)
    throw new UsageError(`"${name}" may be ${ending.map((model) => model.name).join(" or ")}: give the whole name`);
  return ending[0]?.folder;
}
