import { UsageError } from "../../core/errors.ts";
import { defineCommand, onePositional } from "../command.ts";
import { table } from "../output.ts";
import { scoreTokens } from "../score-tokens.ts";
import { textFlags, tokenizerOf, tokensOf } from "./model-input.ts";

export default defineCommand({
  name: "model score",
  examples: [
    'coa model score .coa/models/lab --text "<think> The capital of" --json',
    "coa model score .coa/models/lab --tokens 12,7,401",
  ],
  summary: "Print the log-probability a model gives to each token of a text.",
  arguments: "<model folder>",
  options: textFlags,
  async run({ values, positionals, out }) {
    const folder = onePositional(this, positionals, "a model folder");
    const tokenizer = await tokenizerOf(folder);
    const tokens = tokensOf(values, tokenizer, folder);
    if (tokens.length < 2) throw new UsageError(`scoring needs at least two tokens; this is ${tokens.length}`);
    const scores = await scoreTokens(folder, tokens);
    const total = scores.reduce((sum, score) => sum + score, 0);
    const pieces = tokenizer ? tokens.map((token) => tokenizer.decode([token])) : undefined;
    // Nothing comes before the first token, so it has no score.
    if (values.json)
      out.json({
        model: folder,
        tokens,
        ...(pieces ? { pieces } : {}),
        logprobs: [null, ...scores],
        total,
        mean: total / scores.length,
      });
    else {
      const rows = tokens.map((token, index) => [
        String(token),
        pieces ? JSON.stringify(pieces[index]) : "",
        index === 0 ? "" : scores[index - 1]!.toFixed(4),
      ]);
      out.print(table([...rows, ["total", `${scores.length} tokens`, total.toFixed(4)]], ["right", "left", "right"]));
    }
    return 0;
  },
});
