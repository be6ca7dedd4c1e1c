import { join, relative } from "node:path";
import { workspaceRoot } from "../../base/files/workspace.ts";
import { UsageError } from "../../core/errors.ts";
import { compareEvaluations } from "../../evaluate/compare-evaluations.ts";
import { money } from "../../report/format-figures.ts";
import { resultSentence } from "../../report/result-sentence.ts";
import { defineCommand, onePositional, runLine } from "../command.ts";
import { openFile } from "../open-file.ts";
import { confirmed, type Output } from "../output.ts";
import { priceOf } from "../spending.ts";
import { chooseUp, studentText, upFlags, upSections } from "../up/choose.ts";
import { estimateText, tokensOf } from "../up/estimate.ts";
import { lookAtInput, type UpInput } from "../up/look-at-input.ts";
import { estimateFor, nextLines, otherStudents, runUp, spentSoFar, workFolder } from "../up/run-up.ts";
import { planUp, typed, type UpStep } from "../up/up-plan.ts";
import { readNamed } from "./eval-compare.ts";

export default defineCommand({
  summary:
    "Make a model from your documents or traces: index or import, tasks, team, distill, dataset, train, compare. Prints what it costs and every command before, stops at twice that, and resumes.",
  arguments: "<folder or traces>",
  examples: [
    "coa up docs/ --dry-run",
    "coa up docs/ --price 0.4,1.6 --max-usd 5",
    "coa up traces/ --tasks answers.jsonl",
    "coa up traces.jsonl --assume-right --student ./Qwen2.5-0.5B-Instruct",
  ],
  options: upFlags,
  reads: upSections,
  hides: ["temperature", "topology", "judge", "docs", "index", "search", "recorded", "tool-faults"],
  async run({ values, settings, positionals, out, signal, commands }) {
    const path = onePositional(positionals, "a folder of documents, or traces");
    const { maxUsd: most } = settings.spending;
    const chosen = await chooseUp(values, settings);
    const input = await lookAtInput(path, settings.up.input);
    for (const problem of input.problems) out.note(problem);
    const server = settings.model.baseUrl ?? process.env["OPENAI_BASE_URL"] ?? process.env["OPENAI_API_KEY"];
    if (input.kind === "documents" && !server)
      throw new UsageError(
        "no model to write questions and play the team: give --base-url (and --model), or set OPENAI_BASE_URL",
      );
    const questions = input.kind === "traces" ? input.runs.length : chosen.questions;
    const choices = {
      ...chosen,
      questions,
      folder: values.out ?? relative(".", await workFolder(workspaceRoot(), input)),
      others: [] as string[],
    };
    const { folder } = choices;
    choices.others = await otherStudents(folder, choices.student);
    const price = priceOf(settings.spending.price);
    const spent = await spentSoFar(folder, price);
    const estimate = await estimateFor(input, choices, price);
    for (const line of [inputText(input), studentText(choices.student), ...estimateText(estimate)]) out.note(line);
    if (spent.usd > 0) out.note(`Spent so far: ${money(spent.usd)}.`);
    const planned = { input: input.kind, folder, estimate, spentUsd: spent.usd };
    if (values["dry-run"]) {
      const steps = planUp(input, choices);
      return {
        json: { ...planned, steps: steps.map(({ name, what, args }) => ({ name, what, command: typed(args) })) },
        text: steps.map((step, index) => stepText(step, index + 1, typed(step.args))),
      };
    }
    if (most !== undefined && spent.usd + (estimate.usd ?? 0) > most)
      throw new UsageError(`that is more than --max-usd ${most}: ask fewer questions (--questions), or allow more`);
    if (
      estimate.parts.length > 0 &&
      !values.yes &&
      process.stdin.isTTY &&
      out.isTTY &&
      !(await confirmed("Continue?", true))
    )
      return 1;
    const { code, steps, measuredOn } = await runUp(input, choices, {
      run: (args) => runLine(args, insideOf(out), signal, commands),
      onStep: (step, { number, done, command }) =>
        out.note(done ? `${number}. ${step.name}: done before` : out.style("bold", stepText(step, number, command))),
      again: `coa up ${process.argv.slice(process.argv.indexOf("up") + 1).join(" ")}`,
      note: out.note,
      signal,
      ...(!values.yes && estimate.parts.length > 0 && { maxTokens: spent.tokens + 2 * Math.ceil(tokensOf(estimate)) }),
    });
    out.endProgress();
    if (code !== 0) return code;
    const next = await nextLines(input, choices, steps);
    const compared = steps.find(({ name }) => name === "report")?.args;
    const report = compared && join(folder, "report.html");
    // `eval compare <names> --title …`
    const names = compared?.slice(2, compared.indexOf("--title")) ?? [];
    const result = compared && resultSentence(compareEvaluations(await Promise.all(names.map(readNamed))));
    if (values.open && report) await openFile(report, out.note);
    const { usd: spentUsd } = await spentSoFar(folder, price);
    return {
      json: { ...planned, spentUsd, measuredOn, result, report, steps: steps.map(({ args }) => typed(args)), next },
      text: [...(report ? [result!, `Measured on ${measuredOn}. The report: ${report}`] : []), ...next],
    };
  },
});

function inputText(input: UpInput): string {
  if (input.kind === "documents") return `${input.path}: ${input.files} documents, ${input.pieces} pieces of text.`;
  const scored = input.scored > 0 ? `, ${input.scored} with feedback` : "";
  return `${input.path}: traces, ${input.runs.length} runs${scored}.`;
}

function stepText({ name, what }: UpStep, number: number, command: string): string {
  return `${number}. ${name}: ${what}\n   $ ${command}`;
}

/** The output of a command inside this one: everything it says goes to the person, indented; stdout stays ours. */
export function insideOf(out: Output): Output {
  const indented = (text: string) => out.note(text.replace(/^(?=.)/gm, "   "));
  return {
    ...out,
    print: indented,
    note: (text) => (text.startsWith("next:") ? undefined : indented(text)),
    json: (value) => indented(JSON.stringify(value)),
  };
}
