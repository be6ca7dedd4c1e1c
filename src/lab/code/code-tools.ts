/** The tools of the lab's programming tasks: a real sandbox, with its output written short. */
import type { Sandbox } from "../../core/sandbox.ts";
import type { Tool } from "../../core/tool.ts";
import { codeTool } from "../../tools/code.ts";
import { compactTools } from "../compact-tools.ts";

/**
 * The code tool over a sandbox, with what a program printed, or the last line of its error, as the whole observation.
 */
export function codeLabTools(sandbox: Sandbox): Tool[] {
  return compactTools([codeTool({ sandbox })]);
}
