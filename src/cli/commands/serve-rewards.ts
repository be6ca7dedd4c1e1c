import { taskGrader } from "../../graders/grade-task.ts";
import { judgeGrader } from "../../graders/judges/judge-grader.ts";
import { openaiCompatible } from "../../models/openai-compatible.ts";
import { rewardHandler } from "../../serve/reward-handler.ts";
import { defineCommand } from "../command.ts";
import { runServer } from "../run-server.ts";
import { portFlags, portOptions } from "../serve-flags.ts";
import { gradingSandbox } from "./eval-grading.ts";

export default defineCommand({
  name: "serve rewards",
  summary: "Serve rewards over HTTP for trainers: POST /reward, /reward/batch, and the shapes of verl, TRL and slime.",
  examples: [
    "coa serve rewards --port 4244",
    "coa serve rewards --judge-model qwen3 --judge-url http://localhost:8000/v1",
  ],
  options: {
    ...portFlags,
    "judge-model": { type: "string", valueName: "name", describe: "Model that judges answers to open questions" },
    "judge-url": { type: "string", valueName: "url", describe: "Its OpenAI-compatible server (default OPENAI_BASE_URL)" },
  }, // biome-ignore format: one flag a line
  async run({ values, out, signal }) {
    const port = await portOptions(values);
    const judging = values["judge-model"] !== undefined || values["judge-url"] !== undefined;
    const model = judging
      ? openaiCompatible({ baseURL: values["judge-url"], model: values["judge-model"] })
      : undefined;
    const sandbox = gradingSandbox();
    try {
      const grader = taskGrader({ sandbox, ...(model && { judge: judgeGrader(model) }) });
      return await runServer(rewardHandler({ ...port, grader }), port, { out, signal, json: values.json });
    } finally {
      await sandbox.close();
      await model?.close();
    }
  },
});
