import { UsageError } from "../../core/errors.ts";
import { openDataset } from "../../dataset/dataset-folder.ts";
import { type InspectedSpan, inspectSequence } from "../../dataset/inspect-sequence.ts";
import { trainedTokens } from "../../dataset/training-sequence.ts";
import { defineCommand, numberOf, onePositional } from "../command.ts";
import type { Output } from "../output.ts";

export default defineCommand({
  name: "dataset inspect",
  examples: ["coa dataset inspect .coa/datasets/lab --index 3", "coa dataset inspect .coa/datasets/lab --tokens"],
  summary: "Show one example: what is trained, what is masked, and with --tokens where it is cut into tokens.",
  arguments: "<dataset folder>",
  options: {
    index: { type: "string", default: "0", valueName: "n", describe: "Which example, counted from 0" },
    id: { type: "string", valueName: "id", describe: "The example of this trajectory instead" },
    tokens: { type: "boolean", default: false, describe: "Show where each token ends" },
  },
  async run({ values, positionals, out }) {
    const folder = onePositional(this, positionals, "a dataset folder");
    const dataset = await openDataset(folder);
    const index = numberOf(values.index, "index", { min: 0, integer: true })!;
    let at = 0;
    for await (const sequence of dataset.sequences()) {
      if (values.id === undefined ? at++ !== index : sequence.id !== values.id) continue;
      const spans = inspectSequence(sequence, await dataset.tokenizer());
      if (values.json) out.json({ id: sequence.id, taskId: sequence.taskId, profile: sequence.profile, spans });
      else {
        const trained = trainedTokens(sequence);
        out.print(`${sequence.id} (task ${sequence.taskId}): ${sequence.tokens.length} tokens, ${trained} trained`);
        out.print(spans.map((span) => show(span, values.tokens, out)).join(out.isTTY ? "" : "\n"));
      }
      return 0;
    }
    const which = values.id === undefined ? `example ${index}` : `an example of trajectory ${values.id}`;
    throw new UsageError(`${folder} has ${dataset.manifest.examples} examples, but not ${which}`);
  },
});

/** On a terminal by colour; elsewhere each span on lines of its own, named. */
function show(span: InspectedSpan, tokens: boolean, out: Output): string {
  const text = tokens ? span.pieces.join("│") : span.text;
  if (!out.isTTY) return `[${span.kind}${span.weight !== 0 && span.weight !== 1 ? ` ${span.weight}` : ""}] ${text}`;
  if (span.kind === "trained") return out.style("green", text);
  return out.style(span.kind === "prompt" ? "blue" : "gray", text);
}
