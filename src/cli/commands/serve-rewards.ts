import { defineTask } from "../../core/task.ts";
import { taskKinds } from "../../core/task-schema.ts";
import { rewardHandler } from "../../serve/reward-handler.ts";
import { defineCommand } from "../command.ts";
import { portOptions, runServer } from "../serve-flags.ts";
import { openGrader } from "./eval-grading.ts";

export default defineCommand({
  summary: "Serve rewards over HTTP for trainers: POST /reward, /reward/batch, and the shapes of verl, TRL and slime.",
  examples: [
    "coa serve rewards --port 4244",
    "coa serve rewards --judge-model qwen3 --judge-url http://localhost:8000/v1",
  ],
  options: {},
  reads: ["server", "judge", "grader"],
  async run({ values, settings, out, signal, session }) {
    const port = await portOptions(settings.server);
    // Any kind of task may be sent: programs need the sandbox, open questions the judge.
    const kinds = taskKinds.map((kind) => defineTask({ id: kind, question: "?", kind }));
    const { grader, note } = await openGrader(settings, session, kinds, { parts: "every" });
    if (note) out.note("without --judge-model open questions are decided only where the answer matches word for word");
    return await runServer(rewardHandler({ ...port.handler, grader }), port, { out, signal, json: values.json });
  },
});
