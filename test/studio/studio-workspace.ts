/** A workspace for the studio's tests: runs of the lab's team, some of them wrong, the chains they became, and a dataset of them. */
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openJsonl } from "../../src/base/files/open-jsonl.ts";
import { readJsonl } from "../../src/base/files/read-jsonl.ts";
import type { Task } from "../../src/core/task.ts";
import type { TeamRun } from "../../src/core/team-run.ts";
import { trajectorySchema } from "../../src/core/trajectory-schema.ts";
import { buildDataset } from "../../src/dataset/dataset-folder.ts";
import { distill } from "../../src/distill/distill.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { labRuns } from "../../src/lab/lab-runs.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { loadTokenizer } from "../../src/tokenizers/load-tokenizer.ts";

/** Writes runs and tasks of the lab's team below `folder`/team. */
export async function writeRuns(folder: string, count: number, imperfect = 0): Promise<void> {
  await mkdir(join(folder, "team"), { recursive: true });
  const runs = await openJsonl<TeamRun>(join(folder, "team", "runs.jsonl"));
  const tasks = await openJsonl<Task>(join(folder, "team", "tasks.jsonl"));
  let done = 0;
  for (let world = 0; done < count; world++) {
    for await (const { task, run } of labRuns({ seed: 1, tasksPerWorld: 40, pages: 600, imperfect }, world)) {
      if (done++ >= count) break;
      await tasks.append(task);
      await runs.append(run);
    }
  }
  await runs.close();
  await tasks.close();
}

/** A workspace in a temporary folder: `count` runs, distilled; wrong runs are dropped by their grade. */
export async function studioWorkspace(count: number, imperfect = 0.3, minInteractions = 6): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "coa-studio-"));
  await writeRuns(folder, count, imperfect);
  await distill([join(folder, "team", "runs.jsonl")], {
    tasksFiles: [join(folder, "team", "tasks.jsonl")],
    out: join(folder, "distill"),
    config: {
      profile: labProfile,
      systemPrompt: false,
      seed: 1,
      minInteractions,
      nearDuplicates: 1.1,
      reflection: { keepWithout: minInteractions > 1 ? 0.5 : 1 },
    },
    plugins: { grade: taskGrader() },
  });
  const tokenizer = await loadTokenizer(join(import.meta.dirname, "..", "..", "weights", "afm-lab-2m"));
  const chains = join(folder, "distill", "trajectories.jsonl");
  await buildDataset(readJsonl(chains, trajectorySchema), {
    folder: join(folder, "dataset"),
    tokenizer,
    inputs: [{ role: "trajectories", path: chains }],
  });
  return folder;
}
