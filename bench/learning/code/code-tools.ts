/** The tools of the lab's programming tasks: a real sandbox, with its output written short. */
import type { Sandbox } from "../../../src/core/sandbox.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { compactTools } from "../../../src/lab/compact-tools.ts";
import { codeTool } from "../../../src/tools/code.ts";

/**
 * The code tool over a sandbox, with what a program printed, or the last line of its error, as the whole observation.
 */
export function codeLabTools(sandbox: Sandbox): Tool[] {
  return compactTools([codeTool({ sandbox })]);
}
