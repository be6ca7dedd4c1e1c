/** One task over everything that was done for it: teams, chains they became, chains of each model, aligned by move. */
import { basename, dirname, join } from "node:path";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import { asObject, parseJson } from "../../core/json-value.ts";
import { type CutText, cutText } from "./cut-text.ts";
import type { ItemView } from "./query-items.ts";
import { NotFound, readItem, type StoredItem, type StudioContext } from "./reader.ts";
import { stageFolders } from "./stage-folders.ts";

/** One move of a system: a segment of a chain, or what a team's step said or called. */
export interface MoveView {
  name: string;
  by: string;
  text: CutText;
}

const mostSystems = 16;
const mostMoves = 400;

/** `GET /api/compare?task=…&folder=…`: the newest of each system and file; of the folders named, in their order, where some are. */
export async function readCompare(query: URLSearchParams, context: StudioContext) {
  const { items, root } = context;
  const task = query.get("task") ?? "";
  const folders = query.getAll("folder");
  const placeOf = ({ file }: ItemView) => folders.indexOf(dirname(file));
  const every = items.ofTask(task).filter(({ kind }) => kind !== "example");
  const chosen = every.filter((item) => placeOf(item) >= 0).sort((a, b) => placeOf(a) - placeOf(b));
  const all = chosen.length > 0 ? chosen : every;
  if (all.length === 0) throw new NotFound(`nothing was done for the task "${task}" in what was opened`);
  // Of several of one system the last is shown: the newest step of RL, the last sample.
  const newest = new Map(all.map((item) => [`${item.kind} ${item.system} ${item.origin} ${item.file}`, item]));
  const shown = [...newest.values()].slice(0, mostSystems);
  const problems: string[] = [];
  const evaluations = new Set(stageFolders(context, "evaluation").map(({ folder }) => folder));
  const systems = shown.flatMap((item) => {
    try {
      return [{ ...figuresOf(item, evaluations), moves: movesOf(readItem(root, item)).slice(0, mostMoves) }];
    } catch (error) {
      problems.push((error as Error).message);
      return [];
    }
  });
  const rows = alignMoves(systems.map(({ moves }) => moves.map(({ name }) => name)));
  return {
    task,
    question: all.find(({ question }) => question !== "")?.question ?? "",
    systems,
    /** Every right answer, where the tasks of an evaluation are there. */
    gold: await goldOf(task, shown, evaluations, root),
    /** Rows of places in each system's moves; null where it has no such move. */
    rows: rows.map((row) => row.map((at) => at ?? null)),
    /** Runs and chains of the task that are not shown. */
    more: every.length - shown.length,
    problems,
  };
}

/** One task over everything that was done for it. */
export type CompareView = Awaited<ReturnType<typeof readCompare>>;

/** The right answers to a task by the first evaluation that has it. */
async function goldOf(
  task: string,
  shown: readonly ItemView[],
  evaluations: ReadonlySet<string>,
  root: string,
): Promise<string[]> {
  for (const folder of new Set(shown.map(({ file }) => dirname(file)))) {
    if (!evaluations.has(folder)) continue;
    const tasks = await readAllJsonl<{ id: string; answers?: string[] }>(join(root, folder, "tasks.jsonl"));
    const found = tasks.find(({ id }) => id === task);
    if (found) return found.answers ?? [];
  }
  return [];
}

/** A system has the name of its evaluation; others are told apart by where they came from. */
function figuresOf(
  { key, kind, system, origin, file, answer, reward, ending, billed, step }: ItemView,
  evaluations: ReadonlySet<string>,
) {
  const folder = dirname(file);
  const made = kind === "run" ? `team, ${system}` : `${origin} ${system}${step === null ? "" : `, step ${step + 1}`}`;
  const title = evaluations.has(folder) ? basename(folder) : made;
  return { key, kind: kind as "run" | "chain", title, file, answer, reward, ending, billed };
}

/** Words of a team's moves that a chain writes under a tag; tools have the same name in both. */
const tagOfMove: Record<string, string> = {
  plan: "plan",
  review: "reflection",
  verify: "double_check",
  answer: "answer",
};

/** A call with one text as its only argument is that text, as a chain writes it. */
function onlyWords(given: string): string {
  const values = Object.values(asObject(parseJson(given)) ?? {});
  return values.length === 1 && typeof values[0] === "string" ? values[0] : given;
}

function movesOf(stored: StoredItem): MoveView[] {
  if (stored.kind === "chain")
    return stored.chain.segments.map(({ tag, by, text }) => ({ name: tag, by, text: cutText(text) }));
  if (stored.kind !== "run") return [];
  return stored.run.steps.flatMap(({ move, text, toolCalls }): MoveView[] => {
    const words: MoveView = { name: tagOfMove[move ?? ""] ?? "think", by: "model", text: cutText(text) };
    const calls = toolCalls.flatMap((call): MoveView[] => {
      const asked: MoveView = { name: call.name, by: "model", text: cutText(onlyWords(call.arguments)) };
      const told = call.error ?? call.result;
      return told === undefined ? [asked] : [asked, { name: "observation", by: "tool", text: cutText(told) }];
    });
    return text.trim() === "" ? calls : [words, ...calls];
  });
}

/** Rows of places: `row[i]` is the index in the i-th sequence, or undefined where it has no such move. */
export function alignMoves(sequences: readonly (readonly string[])[]): (number | undefined)[][] {
  let rows: { key: string; at: (number | undefined)[] }[] = [];
  for (const [column, sequence] of sequences.entries()) {
    const shared = commonPlaces(
      rows.map(({ key }) => key),
      sequence,
    );
    const merged: typeof rows = [];
    let row = 0;
    let move = 0;
    const none = () => new Array<number | undefined>(sequences.length).fill(undefined);
    for (const [sharedRow, sharedMove] of [...shared, [rows.length, sequence.length] as const]) {
      for (; row < sharedRow; row++) merged.push(rows[row]!);
      for (; move < sharedMove; move++) merged.push({ key: sequence[move]!, at: none().with(column, move) });
      if (sharedRow < rows.length) {
        merged.push({ key: rows[row]!.key, at: rows[row]!.at.with(column, move) });
        row++;
        move++;
      }
    }
    rows = merged;
  }
  return rows.map(({ at }) => at);
}

/** The longest common subsequence of two short lists, as pairs of places. */
function commonPlaces(a: readonly string[], b: readonly string[]): [number, number][] {
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i]![j] = a[i] === b[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
  const places: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) places.push([i++, j++]);
    else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) i++;
    else j++;
  }
  return places;
}
