/** What the evaluations of Agent Foundation Models set, by agent: words, opening, limits and sampling. */
import type { Profile } from "../core/profile.ts";
import type { Task } from "../core/task.ts";
import { afmPrompt } from "./afm-prompts.ts";

export interface AfmPreset {
  /** The one user message of a task; `rules` replaces the published words where given. */
  ask(task: Task, rules?: string): string;
  /** What every step is opened with. */
  opening: string;
  maxSteps: number;
  maxTokensPerStep: number;
  sampling: { temperature: number; topP?: number; topK?: number };
  /** Whether a step that repeats an earlier one is kept with a note instead of run. */
  notesRepeats: boolean;
}

/** The preset of a profile: `code` has one of its own, every other runs as the web agent does. */
export function afmPreset(profile: Profile): AfmPreset {
  if (profile.name === "code") {
    return {
      // Their rows put mathematics on a new line after "Task:", programs on the same one.
      ask: ({ question, kind }, rules) =>
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
    ask: ({ question }, rules) =>
      `${(rules ?? afmPrompt(profile.name === "mhqa" ? "mhqa" : "web")).trim()}\n\nQuestion: ${question}`,
    opening: `<${profile.think}>`,
    maxSteps: 36,
    maxTokensPerStep: 4096,
    sampling: { temperature: 1, topP: 0.9, topK: 20 },
    notesRepeats: true,
  };
}
