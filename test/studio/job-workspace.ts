/**
 * A workspace for the jobs that people bring to the studio: a small quickstart with the shipped model, whose RL takes a few
 * steps at far too high a rate, so that some tasks are right before and wrong after; and a distillation with a filter that
 * drops right runs. It takes the time of a few hundred chains and is kept until a source changes.
 */
import { existsSync, globSync, statSync } from "node:fs";
import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fingerprint } from "../../src/core/fingerprint.ts";
import { distill } from "../../src/distill/distill.ts";
import { taskGrader } from "../../src/graders/grade-task.ts";
import { labProfile } from "../../src/lab/profile.ts";
import { runQuickstart } from "../../src/lab/quickstart/run-quickstart.ts";
import { quickstartSizes } from "../../src/lab/quickstart/settings.ts";

const { fast } = quickstartSizes;
const settings = {
  ...fast,
  teamTasks: 40,
  testTasks: 24,
  rl: { steps: 2, groups: 3, samples: 4, rate: 3e-3 },
};

const root = join(import.meta.dirname, "..", "..");

/** A copy of the workspace in a folder of its own. */
export async function jobWorkspace(): Promise<string> {
  const sources = globSync("src/**/*.ts", { cwd: root }).map((file) => statSync(join(root, file)).mtimeMs);
  const ofCheckout = join(tmpdir(), `coa-jobs-${fingerprint(root).slice(0, 8)}-`);
  const kept = ofCheckout + fingerprint(JSON.stringify([settings, Math.max(...sources)])).slice(0, 8);
  if (!existsSync(kept)) {
    for (const stale of globSync(`${ofCheckout}*`)) await rm(stale, { recursive: true, force: true });
    const made = await mkdtemp(join(tmpdir(), "coa-jobs-"));
    const at = (...parts: string[]) => join(made, "quickstart", ...parts);
    await runQuickstart({ folder: at(), settings, seed: 1 });
    await distill([at("team", "runs.jsonl")], {
      tasksFiles: [at("team", "tasks.jsonl")],
      out: join(made, "strict"),
      config: { profile: labProfile, systemPrompt: false, seed: 1, minInteractions: 6, reflection: { keepWithout: 1 } },
      plugins: { grade: taskGrader() },
    });
    // Another test may have made it by now.
    await rename(made, kept).catch(() => rm(made, { recursive: true }));
  }
  const folder = await mkdtemp(join(tmpdir(), "coa-job-"));
  await cp(kept, folder, { recursive: true });
  return folder;
}
