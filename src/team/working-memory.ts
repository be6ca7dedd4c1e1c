/**
 * What the team knows while it works. The working memory holds every delegation of the run with its tool calls and
 * report; reflector and verifier are shown it.
 */

/** One delegation: who did what, with which calls, and what came of it. */
export interface MemoryEntry {
  member: string;
  task: string;
  calls: { tool: string; input: string; output: string }[];
  report: string;
  failed: boolean;
}

/** The work so far as text, newest last; long outputs and reports lose their middle. */
export function describeWork(entries: readonly MemoryEntry[], characters = 4_000): string {
  if (entries.length === 0) return "Nothing has been done yet.";
  return entries
    .map((entry, index) =>
      [
        `## Step ${index + 1}: ${entry.member}`,
        `Task: ${entry.task}`,
        ...entry.calls.map((call) => `### ${call.tool} ${call.input}\n${clip(call.output, characters)}`),
        `Report: ${clip(entry.report, characters)}`,
      ].join("\n"),
    )
    .join("\n\n");
}

/** Keeps both ends of a long text. */
function clip(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const half = Math.floor(characters / 2);
  return `${text.slice(0, half)} … ${text.length - 2 * half} characters left out … ${text.slice(-half)}`;
}
