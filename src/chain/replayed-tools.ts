/**
 * Tools that answer from recordings, for traces that come without their tools: the same tool with the same input gives
 * what it gave then. A call that was never recorded fails with an observation that says so, and is marked in the
 * trajectory, so that a number measured on replayed tools can say how many calls it lacked.
 */
import { ToolError } from "../core/errors.ts";
import type { TeamRun } from "../core/team-run.ts";
import type { Tool } from "../core/tool.ts";
import { callArguments, callKey } from "../language/call-body.ts";
import { recordedCalls, recordedTools } from "../language/recorded-tools.ts";

/** The tools of these runs, answering what was recorded. */
export function replayedTools(runs: Iterable<TeamRun>): Tool[] {
  const tools = new Map<string, Tool>();
  const results = new Map<string, { result?: string; error?: string }>();
  for (const run of runs) {
    for (const { name, arguments: text, result, error } of recordedCalls(run)) {
      if (result === undefined && error === undefined) continue;
      const key = callKey(name, callArguments(text));
      // A result counts more than an error: the call did work once.
      if (results.get(key)?.result === undefined) results.set(key, { result, error });
    }
    for (const tool of recordedTools(run)) {
      const recorded = (input: unknown) => results.has(callKey(tool.name, input));
      const execute = (input: unknown) => answer(tool.name, input);
      if (!tools.has(tool.name)) tools.set(tool.name, { ...tool, recorded, execute });
    }
  }
  function answer(name: string, input: unknown): string {
    const known = results.get(callKey(name, input));
    if (!known) throw new ToolError(name, "not recorded: this call was not made in the recordings");
    if (known.result === undefined) throw new Error(known.error);
    return known.result;
  }
  return [...tools.values()];
}
