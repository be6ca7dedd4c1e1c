/**
 * The tokens of one chain with everything that is known of each: whether it is learned, its log-probability when it was
 * sampled, the entropy there, the advantage it was reinforced with. The mask is that of the dataset where the chain is in
 * one, and says so; a chain without ids is encoded here, and says so too.
 */

import { globSync, statSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { modelFolders } from "../../base/files/model-folders.ts";
import type { Around } from "../../base/files/record-kind.ts";
import type { RolloutFigures } from "../../core/chain-marks.ts";
import { UsageError } from "../../core/errors.ts";
import type { Tokenizer } from "../../core/tokenizer.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { fitsTokenizer, readTokens } from "../../dataset/read-tokens.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { askedItem, NotFound, type Reader, readItem, type StudioContext } from "./reader.ts";
import { rolloutFigures } from "./training-readers.ts";

/** Figures by token; null where a token has none. */
type Row = (number | null)[];

/** Tokens that a page can show, and characters that are encoded for it. */
const mostTokens = 65_536;
const mostCharacters = 1_000_000;

/** `GET /api/tokens?id=…`. */
export async function readTokensOf(query: URLSearchParams, context: StudioContext) {
  const { item, stored } = askedItem(query, context, "chain");
  if (stored.kind !== "chain") throw new NotFound("not a chain");
  const { chain, around } = stored;
  const unencoded = chain.segments.reduce((sum, { tokens, text }) => sum + (tokens ? 0 : text.length), 0);
  if (unencoded > mostCharacters) {
    throw new UsageError(`${unencoded.toLocaleString("en")} characters without ids are too many to show as tokens`);
  }
  // Chains of evaluations and rollouts may have the name of one that was learned from: its mask is not theirs.
  const line = chain.source?.kind === "distilled" ? context.items.find("example", item.key) : undefined;
  const example = line && readItem(context.root, line);
  const found = await findTokenizer(context, chain, line && dirname(line.file));
  if (!found) {
    throw new NotFound(
      "no tokenizer that fits this chain is in what was opened: open the model's folder too, as coa studio <path> <path>",
    );
  }
  const whole = readTokens(chain, found.tokenizer, example?.kind === "example" ? example.example : undefined);
  const first = <T>(row: readonly T[]) => row.slice(0, mostTokens);
  const [owners, weights] = [first(whole.owners), first(whole.weights)];
  const figures = around?.rollout === undefined ? undefined : figuresOf(around, dirname(item.file), context);
  const by = (pick: (segment: Trajectory["segments"][number]) => number[] | undefined): Row | undefined =>
    chain.segments.some((segment) => pick(segment) !== undefined) ? rowOf(chain, owners, pick) : undefined;
  const advantage = figures?.advantage;
  return {
    tokens: first(whole.tokens),
    pieces: first(whole.pieces),
    /** Index of the segment; -1 for the prompt. */
    owners,
    weights,
    /** Tokens after those that are shown. */
    notLoaded: whole.tokens.length - owners.length,
    segments: chain.segments.map(({ tag, by, filled }) => ({ tag, by, ...(filled && { filled }) })),
    logprobs: by((segment) => segment.logprobs),
    entropies: by((segment) => segment.entropies),
    ...(advantage !== undefined && { advantages: weights.map((weight) => (weight === 0 ? null : advantage)) }),
    ...(figures && { rollout: { ...figures, reward: around?.reward } }),
    tokenizer: found.folder,
    /** Where the mask is from: a dataset's file, or absent where it is what a dataset would have. */
    ...(line && { maskFrom: line.file }),
    /** Ids came with the chain, as opposed to being encoded here. */
    sampled: chain.segments.some((segment) => segment.tokens !== undefined),
    /** Model folders that the tokens can be scored with; empty without an engine. */
    models: context.score ? findModels(context) : [],
  };
}

/** The tokens of a chain with what is known of each. */
export type TokensView = Awaited<ReturnType<typeof readTokensOf>>;

/** Figures of segments laid out by token. */
function rowOf(
  chain: Trajectory,
  owners: readonly number[],
  pick: (segment: Trajectory["segments"][number]) => number[] | undefined,
): Row {
  const next = chain.segments.map(() => 0);
  return owners.map((owner) => {
    const values = owner < 0 || owner >= chain.segments.length ? undefined : pick(chain.segments[owner]!);
    return values?.[next[owner]!++] ?? null;
  });
}

/** What the update did to a rollout: the line with its name in the file of figures beside it. */
function figuresOf(around: Around, folder: string, { catalog, root }: StudioContext): RolloutFigures | undefined {
  const file = catalog.files().find(({ kind, path }) => kind === "figures" && path.startsWith(join(root, folder)));
  return rolloutFigures(file, new Set([around.rollout!])).get(around.rollout!);
}

/** `GET /api/score?id=…&model=…`: the same tokens under another model. */
export const readScore: Reader = async (query, context) => {
  if (!context.score) throw new NotFound("no engine is at hand to score tokens with");
  const model = query.get("model") ?? "";
  if (!findModels(context).includes(model)) throw new NotFound(`${model} is not a model folder in what was opened`);
  const { tokens } = await readTokensOf(query, context);
  return { model, logprobs: await context.score(join(context.root, model), tokens) };
};

const notModels = (name: string) => name === "node_modules" || name === "checkpoints" || name === "cache";

/** What was opened, and the folder that names are relative to; nothing else below that folder is looked at. */
type Opened = Pick<StudioContext, "root" | "paths">;

/** Folders in what was opened; a file stands for the folder it is in. */
function openedFolders(paths: readonly string[]): string[] {
  return paths.map((path) => (statSync(path, { throwIfNoEntry: false })?.isDirectory() ? path : dirname(path)));
}

export function findModels({ root, paths }: Opened): string[] {
  const folders = openedFolders(paths).flatMap((folder) => modelFolders(folder));
  return [...new Set(folders.map((folder) => relative(root, folder)))].sort();
}

function tokenizerFolders({ root, paths }: Opened): string[] {
  const folders = openedFolders(paths).flatMap((cwd) =>
    globSync("**/tokenizer.json", { cwd, exclude: notModels }).map((found) =>
      relative(root, dirname(join(cwd, found))),
    ),
  );
  return [...new Set(folders)].sort();
}

const loaded = new Map<string, Promise<Tokenizer>>();

function tokenizerIn(folder: string): Promise<Tokenizer> {
  let tokenizer = loaded.get(folder);
  if (!tokenizer) loaded.set(folder, (tokenizer = loadTokenizer(folder)));
  return tokenizer;
}

/** The tokenizer that a chain's ids were written with, or any that can encode it where it has no ids. */
async function findTokenizer(
  opened: Opened,
  chain: Trajectory,
  preferred?: string,
): Promise<{ tokenizer: Tokenizer; folder: string } | undefined> {
  const folders = tokenizerFolders(opened);
  if (preferred !== undefined)
    folders.sort((a, b) => Number(b.startsWith(preferred)) - Number(a.startsWith(preferred)));
  for (const folder of folders) {
    const tokenizer = await tokenizerIn(join(opened.root, folder)).catch(() => undefined);
    if (tokenizer && fitsTokenizer(chain, tokenizer)) return { tokenizer, folder };
  }
  return undefined;
}
