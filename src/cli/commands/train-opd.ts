import { UsageError } from "../../core/errors.ts";
import { distillRun } from "../../distill/distill-run.ts";
import { taskGrader } from "../../graders/grade-task.ts";
import { labCorrector } from "../../lab/lab-corrector.ts";
import { runTeam } from "../../team/run-team.ts";
import { loadTokenizer } from "../../tokenizers/load-tokenizer.ts";
import { checkCorrector } from "../../train/check-corrector.ts";
import { corrections } from "../../train/corrections.ts";
import { teamCorrector } from "../../train/team-corrector.ts";
import { engineTeacher, teacher } from "../../train/token-teacher.ts";
import { defineCommand, missingArgument, numberOf } from "../command.ts";
import { findModel } from "../find-model.ts";
import { openFolder } from "../open-model.ts";
import { pairs } from "../setting.ts";
import { openPlayers } from "./team-players.ts";
import { rolloutFlags, rolloutSections, type Teach, trainOnRollouts } from "./train-rollouts.ts";

const name = "train opd";
const examples = [
  "coa train opd tasks.jsonl --model .coa/sft/model --teacher .coa/large/model --search index --index .coa/wiki --out .coa/opd",
  "coa train opd tasks.jsonl --model .coa/sft/model --teacher-team --base-url http://localhost:8000/v1 --team-model qwen3 --out .coa/opd",
  "coa train opd tasks.jsonl --model .coa/sft/model --profile lab --bare --teacher-team --scripted --out .coa/opd",
  "coa train opd tasks.jsonl --model .coa/sft/model --teacher-grade --guard .coa/dataset --search index --index .coa/wiki --out .coa/opd",
];

export default defineCommand({
  name,
  summary: "Let a teacher judge or correct what the model itself writes (on-policy distillation).",
  arguments: "<tasks.jsonl>",
  examples,
  options: {
    teacher: { type: "string", valueName: "folder", describe: "A model folder of the same vocabulary that scores every token the student writes; with --base-url, a name on that server" },
    "teacher-tokenizer": { type: "string", valueName: "folder", describe: "With --base-url: the tokenizer of the teacher's model, to be compared with the student's" },
    "teacher-team": { type: "boolean", default: false, describe: "A team takes over where the student first goes wrong" },
    "teacher-grade": { type: "boolean", default: false, describe: "The grade of each answer teaches the score that the model's own check should have given it" },
    scripted: { type: "boolean", default: false, describe: "Scripts play the team, no LLM; for tasks of the lab" },
    "base-url": { type: "string", valueName: "url", describe: "OpenAI-compatible server of the teacher or the team (default for teams OPENAI_BASE_URL)" },
    "team-model": { type: "string", valueName: "name", describe: "Model that plays the team's roles (default OPENAI_MODEL)" },
    role: pairs("Another model for one role of the team", { valueName: "role=model" }),
    coefficient: { type: "string", default: "1", valueName: "x", describe: "How much the teacher counts" },
    "reward-weight": { type: "string", default: "0", valueName: "x", describe: "How much the reward counts beside the teacher; 0 leaves RL out" },
    "team-calls": { type: "string", valueName: "n", describe: "Most corrections asked for in one step" },
    ...rolloutFlags,
  }, // biome-ignore format: one flag a line
  reads: rolloutSections,
  async run(context) {
    const { values, settings } = context;
    const graded = values["teacher-grade"];
    if (Number(values.teacher !== undefined) + Number(values["teacher-team"]) + Number(graded) !== 1)
      throw missingArgument(this, "one teacher: --teacher <folder>, --teacher-team or --teacher-grade");
    const coefficient = numberOf(values.coefficient, "coefficient", { min: 0 })!;
    const rewardWeight = numberOf(values["reward-weight"], "reward-weight", { min: 0 })!;
    const limit = numberOf(values["team-calls"], "team-calls", { min: 1, integer: true });
    const modelTeacher: Teach = async () => {
      if (values["base-url"] !== undefined) {
        const folder = values["teacher-tokenizer"];
        if (folder === undefined)
          throw new UsageError(
            "a teacher behind --base-url needs --teacher-tokenizer <folder>: its ids must be the student's",
          );
        const { servedTeacher } = await import("../../models/served-teacher.ts");
        const tokenizer = await loadTokenizer(folder);
        const apiKey = process.env["OPENAI_API_KEY"];
        const model = servedTeacher({ baseURL: values["base-url"], model: values.teacher!, apiKey, tokenizer });
        return { rewardWeight, loss: teacher(model, coefficient), close: model.close };
      }
      const found = findModel({ name: values.teacher }, { lab: false });
      if (found.kind !== "folder")
        throw new UsageError(`${values.teacher} is not a model folder: name one, or give --base-url`);
      const { engine, tokenizer } = await openFolder(found.folder);
      const loss = teacher(engineTeacher(engine, tokenizer), coefficient);
      return { rewardWeight, loss, close: () => engine.close() };
    };
    const teamTeacher: Teach = async ({ profile, toolsOf }) => {
      if (values.scripted) {
        const loss = corrections(labCorrector(toolsOf), { coefficient, limit });
        return { rewardWeight, loss, close: async () => {} };
      }
      const players = openPlayers({
        model: { name: values["team-model"], baseUrl: values["base-url"] },
        team: { roles: values.role },
      });
      const corrector = teamCorrector({
        name: "team",
        profile,
        tools: toolsOf,
        grader: taskGrader(),
        async play(task, tools, { id, signal }) {
          const run = await runTeam(task, { roles: players.roles, tools, id, signal });
          const systemPrompt = settings.chain.bareQuestion ? false : undefined;
          const { trajectory, failure } = distillRun(run, { profile, systemPrompt });
          return { chain: trajectory ?? null, reason: failure?.message, usage: trajectory?.usage };
        },
      });
      return { rewardWeight, loss: corrections(corrector, { coefficient, limit }), close: players.close };
    };
    const grade: Teach = async ({ profile }) => ({
      rewardWeight,
      loss: corrections(checkCorrector(profile), { coefficient, limit }),
      close: async () => {},
    });
    const teach = graded ? grade : values["teacher-team"] ? teamTeacher : modelTeacher;
    return trainOnRollouts({ name, examples }, context, teach);
  },
});
