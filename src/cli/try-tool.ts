/** Calls a tool from the command line with a body written as a chain would write it. */

import { messageOf, UsageError } from "../core/errors.ts";
import type { Tool } from "../core/tool.ts";
import { readCallBody } from "../language/call-body.ts";
import { outputText } from "../language/observation.ts";
import type { TagSpec } from "../language/profile.ts";
import { builtInProfiles } from "../language/profiles.ts";

/** One call: what came back, whether the tool failed, how long it took. */
export interface Trial {
  ok: boolean;
  output: string;
  ms: number;
}

/** Makes the call described by `body`. */
export async function tryTool(tool: Tool, body: string, signal: AbortSignal): Promise<Trial> {
  const read = await readCallBody(specOf(tool.name), tool, body);
  if (!read.ok) throw new UsageError(read.message);
  const started = performance.now();
  try {
    const outputs: string[] = [];
    for (const input of read.inputs)
      outputs.push(outputText(await tool.execute(input, { signal, trajectoryId: "try", question: body })));
    return { ok: true, output: outputs.join("\n\n"), ms: performance.now() - started };
  } catch (error) {
    signal.throwIfAborted();
    return { ok: false, output: messageOf(error), ms: performance.now() - started };
  }
}

/** How the tag of a tool is written in the profiles that have it; JSON for tools from elsewhere. */
function specOf(name: string): TagSpec {
  const tags = Object.values(builtInProfiles).flatMap((profile) => profile.tags);
  const known = tags.find((tag) => tag.tool === name);
  return known ?? { name, job: "", body: { kind: "json", example: "{}" }, tool: name, think: "optional", next: [] };
}
