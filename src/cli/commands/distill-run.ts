import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "../../core/errors.ts";
import type { Profile } from "../../core/profile.ts";
import { distill } from "../../distill/distill.ts";
import { reportText } from "../../report/distill-text.ts";
import { chooseProfile } from "../choose-profile.ts";
import { defineCommand, numberOf } from "../command.ts";
import { choiceOf } from "../flag-values.ts";
import { existingFiles } from "./dataset-input.ts";
import { choosePlugins, readQuestions } from "./distill-options.ts";

const examples = [
  "coa distill run runs.jsonl --tasks tasks.jsonl --profile web --out .coa/distilled/web",
  "coa distill run runs.jsonl --tasks tasks.jsonl --profile lab --bare --min-interactions 4 --out .coa/distilled/lab",
  "coa distill run chains.jsonl --tasks tasks.jsonl --eval gaia.jsonl --filter ./my-filters.ts --out .coa/distilled/again",
];

export default defineCommand({
  name: "distill run",
  summary:
    "Turn team runs (or chains) into chains worth learning from: convert, filter, sample, report. Resumes by itself.",
  arguments: "<runs.jsonl…>",
  examples,
  options: {
    out: { type: "string", valueName: "folder", describe: "Where the result goes" },
    tasks: { type: "string", multiple: true, valueName: "file", describe: "Tasks with their answers, to grade by" },
    profile: { type: "string", default: "web", describe: "web, mhqa, code, multi, lab, or a file that exports one" },
    bare: { type: "boolean", default: false, describe: "No system prompt: the bare question" },
    layout: { type: "string", describe: "White space around observations: compact, or paper (default: the profile's)" },
    fill: {
      type: "boolean",
      default: false,
      describe: "Fill up thoughts and checks that the profile wants and the recording lacks (never trained on)",
    },
    "tool-tag": { type: "string", multiple: true, valueName: "tool=tag", describe: "Tag for a foreign tool's name" },
    "min-interactions": { type: "string", default: "5", valueName: "n", describe: "Fewest interactions of a chain" },
    "keep-without-reflection": {
      type: "string",
      default: "0.5",
      valueName: "share",
      describe: "Share of chains without reflection that stay",
    },
    copies: {
      type: "string",
      default: "2",
      valueName: "n",
      describe: "How often chains that correct themselves are written",
    },
    "near-duplicates": {
      type: "string",
      default: "0.95",
      valueName: "share",
      describe: "Likeness above which a chain is a duplicate",
    },
    balance: { type: "string", valueName: "ratio", describe: "Largest family, in sizes of the median one" },
    "max-tokens": { type: "string", valueName: "n", describe: "Longest chain" },
    eval: { type: "string", multiple: true, valueName: "file", describe: "Evaluation questions that must not leak" },
    "block-url": { type: "string", multiple: true, valueName: "url", describe: "Address that must not be touched" },
    ungraded: { type: "string", default: "drop", describe: "Chains that can't be graded: drop or keep" },
    skip: { type: "string", multiple: true, valueName: "stage", describe: "Leave a stage out" },
    filter: { type: "string", multiple: true, valueName: "module", describe: "Filters of your own (TypeScript)" },
    judge: { type: "string", valueName: "model", describe: "Model that judges answers of kind judge" },
    check: { type: "string", valueName: "model", describe: "Model that checks compliance" },
    rewrite: { type: "string", valueName: "model", describe: "Model that makes thoughts fluent" },
    "base-url": { type: "string", valueName: "url", describe: "Server of these models (default OPENAI_BASE_URL)" },
    tokenizer: { type: "string", valueName: "folder", describe: "Count tokens exactly (otherwise estimated)" },
    workers: { type: "string", valueName: "n", describe: "Worker threads (default: cores - 1)" },
    seed: { type: "string", default: "0", valueName: "n", describe: "Seed of all sampling" },
    resume: {
      type: "string",
      default: "auto",
      describe: "What the folder holds already: auto (continue it), never, fresh",
    },
  },
  async run({ values, positionals, out, signal }) {
    if (positionals.length === 0) throw new UsageError(`coa distill run needs team runs. Example: ${examples[0]}`);
    if (!values.out) throw new UsageError("say where the result goes with --out <folder>");
    const ungraded = choiceOf(values.ungraded, "ungraded", ["drop", "keep"]);
    const tasksFiles = await existingFiles(values.tasks ?? []);
    await existingFiles([...positionals, ...(values.filter ?? [])]);
    const profile = withLayout(await chooseProfile(values.profile), values.layout);
    const { plugins, close } = await choosePlugins(values, profile, tasksFiles);
    const filters = (values.filter ?? []).map((file) => pathToFileURL(resolve(file)).href);
    const standard = new URL(
      import.meta.url.endsWith(".ts") ? "./distill-plugins.ts" : "./distill-plugins.js",
      import.meta.url,
    );
    try {
      const report = await distill({
        inputs: positionals,
        out: values.out,
        tasksFiles,
        modules: plugins ? filters : [standard.href, ...filters],
        plugins,
        workers: plugins ? 0 : numberOf(values.workers, "workers", { min: 0, integer: true }),
        resume: choiceOf(values.resume, "resume", ["auto", "never", "fresh"]),
        signal,
        onProgress: out.progress,
        config: {
          profile,
          ...(values.bare && { systemPrompt: false as const }),
          fill: values.fill,
          toolTags: readPairs(values["tool-tag"]),
          minInteractions: numberOf(values["min-interactions"], "min-interactions", { min: 0 }),
          reflection: {
            keepWithout: numberOf(values["keep-without-reflection"], "keep-without-reflection", { min: 0, max: 1 }),
          },
          correctionCopies: numberOf(values.copies, "copies", { min: 1, integer: true }),
          nearDuplicates: numberOf(values["near-duplicates"], "near-duplicates", { min: 0 }),
          balanceRatio: numberOf(values.balance, "balance", { min: 0 }),
          maxTokens: numberOf(values["max-tokens"], "max-tokens", { min: 1, integer: true }),
          ungraded,
          contamination: { questions: await readQuestions(values.eval), blockedUrls: values["block-url"] ?? [] },
          skip: values.skip ?? [],
          seed: numberOf(values.seed, "seed", { integer: true }),
        },
      });
      out.endProgress();
      if (values.json) out.json(report);
      else {
        out.print(reportText(report));
        out.print(`\n${join(values.out, "trajectories.jsonl")}\n${join(values.out, "report.html")}`);
      }
      return report.written > 0 ? 0 : 1;
    } finally {
      await close();
    }
  },
});

function readPairs(pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [tool, tag] = pair.split("=");
      if (!tool || !tag) throw new UsageError(`--tool-tag takes tool=tag, not "${pair}"`);
      return [tool, tag];
    }),
  );
}

function withLayout(profile: Profile, wanted: string | undefined): Profile {
  if (wanted === undefined) return profile;
  const layout = choiceOf(wanted, "layout", ["compact", "paper"]);
  return { ...profile, style: { ...profile.style, layout } };
}
