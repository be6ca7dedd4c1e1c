/** Where systems part on one task: moves that some of them lack, and the same move with other words. */
import type { CompareView } from "../../api/compare-reader.ts";
import type { CutText } from "../../api/cut-text.ts";

/** Where nothing is chosen, the first move at which chains part is open; at which all part where there are not two chains. */
export function firstParting(view: Pick<CompareView, "systems" | "rows">): number {
  const chains = view.systems.flatMap(({ kind }, column) => (kind === "chain" ? [column] : []));
  const columns = chains.length > 1 ? chains : [...view.systems.keys()];
  return view.rows.findIndex((row) => {
    const own = row.map((at, column) => (columns.includes(column) ? at : null));
    const made = own.filter((at) => at !== null).length;
    return made > 0 && (made < columns.length || differs(view, own));
  });
}

/** The same move with other words; another layout of the same words is no difference. */
export function differs({ systems }: Pick<CompareView, "systems">, row: readonly (number | null)[]): boolean {
  const texts = row.flatMap((at, column) => (at === null ? [] : [wordsOf(systems[column]!.moves[at]!.text)]));
  return new Set(texts).size > 1;
}

function wordsOf({ text, length }: CutText): string {
  return `${text.replace(/\s+/g, " ").trim()}${length > text.length ? ` ${length}` : ""}`;
}
