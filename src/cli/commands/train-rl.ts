import { defineCommand } from "../command.ts";
import { trainOptions } from "./train-options.ts";
import { rolloutHides, rolloutReads, trainOnRollouts } from "./train-rollouts.ts";

const name = "train rl";
const examples = [
  "coa train rl tasks.jsonl --model .coa/sft/model --profile web --search index --index .coa/wiki --out .coa/rl",
  "coa train rl tasks.jsonl --model .coa/sft/model --preset faults --out .coa/rl",
];

export default defineCommand({
  name,
  summary: "Let a model practise on tasks with live tools and reinforce what worked (DAPO).",
  arguments: "<tasks.jsonl>",
  examples,
  options: trainOptions,
  reads: rolloutReads,
  hides: rolloutHides,
  run: (context) => trainOnRollouts({ name, examples }, context),
});
