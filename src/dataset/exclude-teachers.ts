/** Leaves out chains that certain models wrote or taught: some licences forbid training on what their models say. */
import type { Trajectory } from "../core/trajectory.ts";

/** The chains without those whose teachers' names begin with one of these; `counts` says how many each name kept out. */
export async function* excludeTeachers(
  trajectories: AsyncIterable<Trajectory>,
  names: readonly string[],
  counts: Map<string, number>,
): AsyncGenerator<Trajectory> {
  for await (const trajectory of trajectories) {
    // A team of several models is named by all of them.
    const teachers = trajectory.model.split("+").map((model) => model.split("/").at(-1)!.toLowerCase());
    const excluded = names.find((name) => teachers.some((teacher) => teacher.startsWith(name.toLowerCase())));
    if (excluded === undefined) yield trajectory;
    else counts.set(excluded, (counts.get(excluded) ?? 0) + 1);
  }
}
