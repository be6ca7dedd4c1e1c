/** Which tasks and systems of a matrix are shown: by what some systems did with the tasks, or by their family. */
import type { MatrixRow, MatrixView } from "../../api/evaluation-readers.ts";

/** What the address asks for: `right=<folder>&wrong=<folder>` are the tasks that one system solved and another did not. */
export function matrixRows(
  { rows, systems }: Pick<MatrixView, "rows" | "systems">,
  query: URLSearchParams,
): MatrixRow[] {
  const only = query.get("only") ?? "all";
  const family = query.get("family") ?? "";
  const [right, wrong] = ["right", "wrong"].map((name) =>
    systems.findIndex(({ folder }) => folder === query.get(name)),
  ) as [number, number];
  return rows.filter(
    (row) =>
      (right < 0 || (row.cells[right]?.right ?? 0) > 0.5) &&
      (wrong < 0 || (row.cells[wrong]?.right ?? 1) <= 0.5) &&
      (family === "" || row.family === family) &&
      (only === "all" || (only === "differ" ? row.differs : row.cells.some((cell) => cell?.right === 0))),
  );
}

/** Places of the systems that are shown: those that the address chose, what they are measured against, and other stages of their training. */
export function matrixColumns({ systems }: Pick<MatrixView, "systems">, query: URLSearchParams): number[] {
  const chosen = systems.filter(({ folder }) => folder === query.get("right") || folder === query.get("wrong"));
  const isStage = ({ learned, condition }: MatrixView["systems"][number]) =>
    learned !== undefined && chosen.some((one) => one.learned !== undefined && one.condition === condition);
  return [...systems.keys()].filter(
    (at) =>
      chosen.length === 0 ||
      chosen.includes(systems[at]!) ||
      chosen.some(({ against }) => against === at) ||
      isStage(systems[at]!),
  );
}
