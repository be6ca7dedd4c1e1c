/** The `coa` command: finds the verb, runs it, turns errors into one sentence and an exit code. */
import { inspect } from "node:util";
import { packageVersion } from "../base/files/package-version.ts";
import { CoaError, hintAsFlag, messageOf, StoppedError } from "../core/errors.ts";
import { exitCodeOf, findCommand, runLine } from "./command.ts";
import { groupHelp, overview, settingsHelp, unknownCommand } from "./command-help.ts";
import { commands } from "./commands/index.ts";
import { loadDotEnv } from "./load-config.ts";
import { createOutput, type Output } from "./output.ts";

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

const sentences: Record<string, (path: string) => string> = {
  EACCES: (path) => `no permission for ${path}: change its rights, or use another folder (--out, COA_HOME)`,
  EPERM: (path) => `no permission for ${path}: change its rights, or use another folder (--out, COA_HOME)`,
  EROFS: (path) => `${path} can't be written, its file system is read-only: use another folder (--out, COA_HOME)`,
  ENOTDIR: (path) => `${path}: a part of this path is a file, not a folder`,
  EISDIR: (path) => `${path} is a folder: name one of the files in it`,
  ENOSPC: (path) => `the disk is full (${path}). Make room and run the same command again: what is done is kept`,
  EDQUOT: (path) => `the quota of the disk is used up (${path}). Make room and run the same command again`,
  EMFILE: (path) => `too many files are open (${path}): raise the limit with ulimit -n`,
};

/** The sentence for an error of the system, or for one that it caused; undefined for any other. */
export function systemErrorText(error: unknown): string | undefined {
  for (let one = error; one instanceof Error; one = one.cause) {
    const { code, path, syscall } = one as NodeJS.ErrnoException;
    const sentence = code === undefined || syscall === undefined ? undefined : sentences[code];
    if (code === "ENOENT" && syscall === "mkdir") return `${path} can't be made: use another folder (--out, COA_HOME)`;
    if (sentence) return sentence(path ?? (code === "EISDIR" ? "what was given" : "a file"));
  }
  return undefined;
}

export { start };

// Last: everything above must be there when it runs.
if (import.meta.main) await start();
