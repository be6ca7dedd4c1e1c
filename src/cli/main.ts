/** The `coa` command: finds the verb, runs it, turns errors into one sentence and an exit code. */
import { inspect } from "node:util";
import { packageVersion } from "../base/files/package-version.ts";
import { CoaError, hintAsFlag, messageOf, StoppedError } from "../core/errors.ts";
import { exitCodeOf, findCommand, runLine } from "./command.ts";
import { settingsHelp } from "./command-help.ts";
import { commands } from "./commands/index.ts";
import { groupHelp, overview, unknownCommand } from "./help.ts";
import { loadDotEnv } from "./load-config.ts";
import { createOutput, type Output } from "./output.ts";
import { systemErrorText } from "./system-errors.ts";

/** Runs one command line and returns its exit code. */
export async function main(args: readonly string[], out: Output, signal: AbortSignal): Promise<number> {
  const [first] = args;
  if (first === undefined || first === "--help" || first === "-h" || (first === "help" && args.length === 1)) {
    out.print(overview());
    return first === undefined ? 2 : 0;
  }
  if (first === "help" && args[1] === "settings") {
    out.print(settingsHelp(args.slice(2)));
    return 0;
  }
  if (first === "help") return main([...args.slice(1), "--help"], out, signal);
  if (first === "--version" || first === "-v") {
    out.print(packageVersion());
    return 0;
  }
  if (!(findCommand(args, commands) in commands)) {
    const asked = args[1] === undefined || args[1] === "--help" || args[1] === "-h" ? groupHelp(first) : undefined;
    if (asked === undefined) throw unknownCommand(args);
    out.print(asked);
    return args[1] === undefined ? 2 : 0;
  }
  return runLine(args, out, signal, commands);
}

async function start(): Promise<void> {
  loadDotEnv();
  const out = createOutput();
  const stop = new AbortController();
  // The first Ctrl-C asks for a clean end, the second one does not wait for it.
  process.once("SIGINT", () => {
    out.note("stopping… (Ctrl-C again to stop at once)");
    stop.abort();
    process.once("SIGINT", () => process.exit(130));
  });
  process.once("SIGTERM", () => stop.abort());
  // `coa … | head` closes the pipe early: that is not an error.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  try {
    process.exitCode = await main(process.argv.slice(2), out, stop.signal);
  } catch (error) {
    out.endProgress();
    out.note(stop.signal.aborted && !(error instanceof StoppedError) ? "stopped" : `coa: ${said(error)}`);
    if (process.env["COA_DEBUG"]) out.note(inspect(error));
    process.exitCode = stop.signal.aborted ? 130 : exitCodeOf(error);
  }
}

/** An error in the words of a command line: what would help is a flag, and the system's codes are sentences. */
function said(error: unknown): string {
  return (
    systemErrorText(error) ??
    (error instanceof CoaError && error.hint ? `${error.problem}. ${hintAsFlag(error.hint)}` : messageOf(error))
  );
}

if (import.meta.main) await start();

export { start };
