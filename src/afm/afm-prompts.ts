/**
 * The prompts that Agent Foundation Models were trained and evaluated with, word for word (Apache-2.0; docs/third-party.md).
 * They are data, in `prompts/`: published weights answer best to the very words they know.
 */
import { readFileSync } from "node:fs";

/** The agents that have a prompt: the code agent has one for mathematics and one for programs. */
export type AfmAgent = "web" | "mhqa" | "math" | "program";

/** The published prompt of an agent. */
export function afmPrompt(agent: AfmAgent): string {
  return readFileSync(new URL(`./prompts/${agent}.txt`, import.meta.url), "utf8");
}
