/**
 * What an export holds of evaluations and trainings: the matrix, the figures of every step, the steps and tasks of the chosen
 * chains. A task is compared only where everything that was done for it was chosen, so that nothing else gets out.
 */
import type { CompareView } from "./compare-reader.ts";
import type { ItemView } from "./item-view.ts";
import type { LinesView } from "./lines-reader.ts";
import type { StepRollouts, TrainingView } from "./training-readers.ts";

const mostParts = 8;

/** Answers of the screens of evaluations and trainings, by path. */
export async function stagePages(
  ask: (path: string) => unknown,
  items: readonly ItemView[],
): Promise<[path: string, view: unknown][]> {
  const pages: [string, unknown][] = [];
  const evaluations = (await ask("evaluations")) as string[];
  pages.push(["evaluations", evaluations]);
  if (evaluations.length > 0) pages.push(["matrix?", await ask("matrix?")]);
  const chosen = new Set(items.map(({ key, file }) => `${key} ${file}`));
  for (const task of new Set(items.map(({ taskId }) => taskId))) {
    const path = `compare?${new URLSearchParams({ task })}`;
    const view = (await ask(path)) as CompareView;
    if (view.systems.every(({ key, file }) => chosen.has(`${key} ${file}`))) pages.push([path, view]);
  }
  const trainings = (await ask("trainings")) as TrainingView[];
  pages.push(["trainings", trainings]);
  for (const { folder, metrics } of trainings) {
    let from = 0;
    for (let part = 1; part <= mostParts; part++) {
      const path = `lines?${new URLSearchParams({ file: metrics, from: String(from) })}`;
      const view = (await ask(path)) as LinesView;
      const isLast = part === mostParts || view.next >= view.size || view.next === from;
      pages.push([path, isLast ? { ...view, size: view.next } : view]);
      from = view.next;
      if (isLast) break;
    }
    // Figures are numbered from 1, what a step sampled from 0.
    for (const step of new Set(items.flatMap((item) => item.step ?? []))) {
      const path = `rollouts?${new URLSearchParams({ folder, step: String(step) })}`;
      const view = (await ask(path)) as StepRollouts;
      const groups = view.groups.map((group) => ({
        ...group,
        rollouts: group.rollouts.filter(({ key }) => chosen.has(`${key} ${view.file}`)),
      }));
      pages.push([path, { ...view, groups: groups.filter(({ rollouts }) => rollouts.length > 0) }]);
    }
  }
  return pages;
}
