/**
 * One call of a tool from outside a chain: checked input, bounded time, output as text; a failure is returned, not
 * thrown.
 */
import { isAbort, messageOf } from "../core/errors.ts";
import type { Tool } from "../core/tool.ts";
import { checkInput } from "../language/check-input.ts";

export interface CalledTool {
  ok: boolean;
  output: string;
  ms: number;
  cutCharacters: number;
}

export async function callTool(
  tool: Tool,
  given: unknown,
  signal: AbortSignal,
  maxCharacters: number,
): Promise<CalledTool> {
  const started = performance.now();
  const late = AbortSignal.timeout(tool.timeoutMs ?? 60_000);
  const answer = (ok: boolean, text: string): CalledTool => ({
    ok,
    output: text.slice(0, maxCharacters),
    ms: Math.round(performance.now() - started),
    cutCharacters: Math.max(0, text.length - maxCharacters),
  });
  try {
    const input = await checkInput(tool, given ?? {});
    if ("problem" in input) return answer(false, `error: the input is wrong: ${input.problem}`);
    const output = await tool.execute(input.value, { signal: AbortSignal.any([signal, late]) });
    return answer(true, typeof output === "string" ? output : (JSON.stringify(output) ?? ""));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return answer(false, `error: ${late.aborted && isAbort(error) ? "the tool took too long" : messageOf(error)}`);
  }
}
