import { defineCommand } from "../command.ts";
import { trainOptions } from "./train-options.ts";
import { rolloutHides, rolloutReads, trainOnRollouts } from "./train-rollouts.ts";

export default defineCommand({
  summary: "Let a model practise on tasks with live tools and reinforce what worked (DAPO).",
  arguments: "<tasks.jsonl>",
  examples: [
    "coa train rl tasks.jsonl --model .coa/sft/model --profile web --search index --index .coa/wiki --out .coa/rl",
    "coa train rl tasks.jsonl --model .coa/sft/model --preset faults --out .coa/rl",
  ],
  options: trainOptions,
  reads: rolloutReads,
  hides: rolloutHides,
  run: (context) => trainOnRollouts("rl", context),
});
