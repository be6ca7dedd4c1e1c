/**
 * The code tool: runs what a model wrote and shows it what came out, in the words the paper's models were trained on.
 * A body may hold fences: ```` ```py ```` is the program (several are joined), ```` ```sh ```` is its standard input.
 */

import { z } from "zod";
import { fencedBlocks, withoutLastLineBreaks } from "../base/text/fences.ts";
import type { Sandbox, SandboxLimits, SandboxRequest, SandboxResult } from "../core/sandbox.ts";
import { defineTool, type Tool } from "../core/tool.ts";
import { defaultSandboxLimits, trimMiddle } from "./sandbox/limits.ts";

const input = z.object({
  code: z.string().min(1).describe("The program; print() what you want to see."),
  stdin: z.string().optional().describe("What the program reads from standard input."),
});

export interface CodeToolOptions {
  sandbox: Sandbox;
  limits?: Partial<SandboxLimits>;
  /** Of the whole observation; the middle is cut out beyond that. */
  maxCharacters?: number;
}

/** Runs Python (or JavaScript, where the sandbox has it) and returns the observation. */
export function codeTool(options: CodeToolOptions): Tool<z.infer<typeof input>> {
  const {
    sandbox,
    limits,
    maxCharacters = limits?.outputCharacters ?? defaultSandboxLimits.outputCharacters,
  } = options;
  const startMs = 60_000; // a first child may have to make its snapshot
  return defineTool({
    name: "code",
    description: `Run a program (${sandbox.languages.join(" or ")}) and see what it prints.`,
    input,
    timeoutMs: (limits?.wallMs ?? defaultSandboxLimits.wallMs) + startMs,
    async run(call, { signal, trajectoryId }) {
      const program = readProgram(call.code, call.stdin);
      if (!sandbox.languages.includes(program.language)) {
        return `ERROR: no ${program.language} here, only ${sandbox.languages.join(" and ")}`;
      }
      const result = await sandbox.run({ ...program, limits, sessionKey: trajectoryId, signal });
      return observationOf(result, maxCharacters);
    },
  });
}

/** The program in what a model wrote: its fences, or all of it where there are none. */
export function readProgram(text: string, stdin?: string): Pick<SandboxRequest, "language" | "code" | "stdin"> {
  const fences = fencedBlocks(text, { ownLines: true });
  const bodies = (names: RegExp): string[] =>
    fences.filter(({ language }) => names.test(language.toLowerCase())).map(({ inside }) => inside.replace(/\n$/, ""));
  const python = bodies(/^(py|python|python3)$/);
  const javascript = bodies(/^(js|javascript|node)$/);
  const plain = bodies(/^$/);
  const input = stdin ?? bodies(/^(sh|bash|stdin|input)$/)[0];
  if (python.length > 0) return { language: "python", code: python.join("\n\n"), stdin: input };
  if (javascript.length > 0) return { language: "javascript", code: javascript.join("\n\n"), stdin: input };
  if (plain.length > 0) return { language: "python", code: plain.join("\n\n"), stdin: input };
  return { language: "python", code: text, stdin: input };
}

/** What the model reads of a run. */
export function observationOf(result: SandboxResult, maxCharacters = defaultSandboxLimits.outputCharacters): string {
  const block = (name: string, text: string): string =>
    text.trim() === "" ? "" : `\n[${name}:BEGIN]\n${withoutLastLineBreaks(text)}\n[${name}:END]`;
  const shown = (limit: number): string => {
    const stdout = block("STDOUT", trimMiddle(result.stdout, limit));
    const stderr = block("STDERR", trimMiddle(result.stderr, limit));
    if (result.verdict === "ok") return `[EXECUTED] Code exited with status 0.${stdout || "\n(no output)"}`;
    if (result.verdict === "timeout") return `PROCESS_TIMEOUT${stderr}${stdout}`;
    if (result.verdict === "memory") return `MEMORY_LIMIT_EXCEEDED${stderr}${stdout}`;
    if (result.verdict === "crashed") return `NO_RESULT${stderr}${stdout}`;
    return `[FAILED] Code exited with status ${result.exitCode}.${stderr}${stdout || (stderr ? "" : "\n(no output)")}`;
  };
  const whole = shown(Number.POSITIVE_INFINITY);
  if (whole.length <= maxCharacters) return whole;
  // Cutting inside the blocks keeps the marks around them; where even that is too long the marks are cut as well.
  const parts = (result.stdout === "" ? 0 : 1) + (result.stderr === "" || result.verdict === "ok" ? 0 : 1);
  const room = Math.max(0, maxCharacters - shown(0).length);
  const cut = shown(Math.floor(room / Math.max(1, parts)));
  return cut.length <= maxCharacters ? cut : trimMiddle(whole, Math.max(0, maxCharacters - 40));
}
