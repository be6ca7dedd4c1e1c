/** The team's runs become chains of one model, and the filters keep what is worth learning. */
import { join } from "node:path";
import { distill } from "../../distill/distill.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { labProfile } from "../profile.ts";
import type { Stage } from "./stage.ts";

export const distillStage: Stage = {
  name: "distill",
  what: "each recorded run is rewritten as one text in which a single model plays every agent; bad runs are filtered out",
  async run({ folder: run, imperfect, onProgress, signal, seed }, folder) {
    const report = await distill({
      inputs: [join(run, "team", "runs.jsonl")],
      tasksFiles: [join(run, "team", "tasks.jsonl")],
      out: folder,
      config: {
        profile: labProfile,
        systemPrompt: false,
        seed,
        // The lab's short families have one or two calls; the paper's bound of five is for the open web.
        minInteractions: 1,
        // Every chain counts: families and reflections are balanced by the tasks already.
        reflection: { keepWithout: 1 },
        nearDuplicates: 1.1,
        correctionCopies: 1,
        // With an imperfect team its mistakes must stay in the data, so that SFT copies them.
        skip: imperfect > 0 ? ["correctness"] : [],
      },
      plugins: { grade: taskGrader() },
      signal,
      onProgress,
    });
    return { "runs in": report.records, "chains kept": report.written };
  },
};
