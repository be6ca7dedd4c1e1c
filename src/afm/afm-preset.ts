/** What the evaluations of Agent Foundation Models set, by agent: words, opening, limits and sampling. */

import { readFileSync } from "node:fs";
import type { Profile } from "../core/profile.ts";
import type { Task } from "../core/task.ts";

/**
 * The preset of a profile: `code` has one of its own, every other runs as the web agent does. `ask` makes the one user message
 * of a task, with other `rules` than the published words where given; `notesRepeats`: a step that repeats an earlier one is kept
 * with a note instead of run.
 */
export function afmPreset(profile: Profile) {
  if (profile.name === "code") {
    return {
      // Their rows put mathematics on a new line after "Task:", programs on the same one.
      ask: ({ question, kind }: Task, rules?: string) =>
        kind === "code"
          ? `${(rules ?? afmPrompt("program")).trim()}\n\nTask: ${question}`
          : `${(rules ?? afmPrompt("math")).trim()}\n\nTask:\n${question}`,
      // The chain begins with its plan, so no step is opened for the model.
      opening: "",
      maxSteps: 12,
      maxTokensPerStep: 8192,
      sampling: { temperature: 0.6 },
      notesRepeats: false,
    };
  }
  return {
    ask: ({ question }: Task, rules?: string) =>
      `${(rules ?? afmPrompt(profile.name === "mhqa" ? "mhqa" : "web")).trim()}\n\nQuestion: ${question}`,
    opening: `<${profile.think}>`,
    maxSteps: 36,
    maxTokensPerStep: 4096,
    sampling: { temperature: 1, topP: 0.9, topK: 20 },
    notesRepeats: true,
  };
}

/** The agents that have a prompt: the code agent has one for mathematics and one for programs. */
export type AfmAgent = "web" | "mhqa" | "math" | "program";

/**
 * The prompts that Agent Foundation Models were trained and evaluated with, word for word (Apache-2.0; docs/third-party.md).
 * They are data, in `prompts/`: published weights answer best to the very words they know.
 */
export function afmPrompt(agent: AfmAgent): string {
  return readFileSync(new URL(`./prompts/${agent}.txt`, import.meta.url), "utf8");
}
