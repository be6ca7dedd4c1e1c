import { UsageError } from "../../core/errors.ts";
import { labCorrector, playedCorrector } from "../../lab/lab-corrector.ts";
import { corrections } from "../../train/corrections.ts";
import { engineTeacher, teacher } from "../../train/token-teacher.ts";
import { defineCommand, MissingArgument } from "../command.ts";
import { findModel } from "../find-model.ts";
import { openFolder } from "../open-model.ts";
import { text, toggle } from "../setting.ts";
import type { Teach } from "./rl-settings.ts";
import { openPlayers } from "./team-players.ts";
import { trainOptions } from "./train-options.ts";
import { rolloutHides, rolloutReads, trainOnRollouts } from "./train-rollouts.ts";

export default defineCommand({
  summary: "Let a teacher judge or correct what the model itself writes (on-policy distillation).",
  arguments: "<tasks.jsonl>",
  examples: [
    "coa train opd tasks.jsonl --model .coa/sft/model --teacher .coa/large/model --search index --index .coa/wiki --out .coa/opd",
    "coa train opd tasks.jsonl --model .coa/sft/model --teacher-team --base-url http://localhost:8000/v1 --team-model qwen3 --out .coa/opd",
    "coa train opd tasks.jsonl --model .coa/sft/model --profile lab --bare --teacher-team --scripted --out .coa/opd",
  ],
  options: {
    teacher: text("Model folder of the same vocabulary that scores every token the student writes", { valueName: "folder", group: "model" }),
    "teacher-team": toggle("A team takes over where the student first goes wrong", { group: "model" }),
    scripted: toggle("Scripts play the team, no LLM; for tasks of the lab", { group: "model" }),
    "base-url": text("OpenAI-compatible server of the team (default: OPENAI_BASE_URL)", { valueName: "url", group: "model" }),
    "team-model": text("Model that plays the team's roles (default: OPENAI_MODEL)", { valueName: "name", group: "model" }),
    ...trainOptions,
  }, // biome-ignore format: one flag a line
  reads: [...rolloutReads, "team"],
  hides: [...rolloutHides, "preset", "engine", "engine-url", "base-model", "lora", "workers-port", "judge", "topology"],
  async run(context) {
    const { values, settings, session } = context;
    if ((values.teacher !== undefined) === values["teacher-team"])
      throw new MissingArgument("one teacher: --teacher <folder> or --teacher-team");
    const { coefficient, rewardWeight, teamCalls: limit } = settings.train;
    const modelTeacher: Teach = async () => {
      const found = await findModel({ name: values.teacher }, { lab: false });
      if (found.kind !== "folder") throw new UsageError(`${values.teacher} is not a model folder: name one`);
      const { engine, tokenizer } = await openFolder(found.folder);
      session.closeAtEnd(engine);
      return { rewardWeight, loss: teacher(engineTeacher(engine, tokenizer), coefficient) };
    };
    const teamTeacher: Teach = async ({ profile, toolsOf }) => {
      const model = { name: values["team-model"], baseUrl: values["base-url"] };
      const corrector = values.scripted
        ? labCorrector(toolsOf)
        : playedCorrector(
            openPlayers({ model, team: settings.team }, session),
            profile,
            settings.chain.bareQuestion,
            toolsOf,
          );
      return { rewardWeight, loss: corrections(corrector, { coefficient, limit }) };
    };
    return trainOnRollouts("opd", context, values["teacher-team"] ? teamTeacher : modelTeacher);
  },
});
