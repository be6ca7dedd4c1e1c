/**
 * The error model, in four sentences. `CoaError` names the boundary that broke; anything else that escapes is a bug.
 * Plug-in code (models, tools, graders, user filters) throws plain errors, and its caller labels them once with
 * `atBoundary`. A failed run is data: it is recorded in `trajectory.ending` and never stops its siblings.
 * A bad flag or a corrupt file stops the program before any work is done (`UsageError`, exit code 2).
 */

export interface ErrorOptions {
  /** Trying the same call again may work (a 503, a timeout), as opposed to a call that can never work. */
  retryable?: boolean;
  cause?: unknown;
  /**
   * What would help, as data: a setting of the call that failed (`resume`), its value, the command line's spelling where it is another
   * word, and what it does there ("to continue it").
   */
  hint?: { option: string; flag?: string; value?: string; purpose?: string };
  /** A stable word to branch on; the boundary where none is given. */
  code?: string;
}

export type Hint = NonNullable<ErrorOptions["hint"]>;
export type Boundary = CoaError["boundary"];

/** An error that says which boundary broke, what was tried and what to do. */
export class CoaError extends Error {
  override readonly name: string = "CoaError";
  /** Which part of the outside world, or which stage, failed. */
  readonly boundary:
    | "usage"
    | "model"
    | "tool"
    | "sandbox"
    | "engine"
    | "storage"
    | "format"
    | "grader"
    | "record"
    | "filter"
    | "network"
    | "aborted";
  readonly code: string;
  readonly retryable: boolean;
  readonly hint: ErrorOptions["hint"];
  /** The message without the hint. */
  readonly problem: string;

  constructor(boundary: CoaError["boundary"], message: string, options: ErrorOptions = {}) {
    const { hint, cause } = options;
    super(hint ? `${message}. ${hintAsOption(hint)}` : message, cause === undefined ? undefined : { cause });
    this.problem = message;
    this.boundary = boundary;
    this.code = options.code ?? boundary;
    this.retryable = options.retryable ?? false;
    this.hint = hint;
  }
}

/** A tool could not do what the model asked. The chain records it as an observation and continues. */
export class ToolError extends CoaError {
  override readonly name = "ToolError";
  readonly toolName: string;

  constructor(toolName: string, message: string, options: ErrorOptions = {}) {
    super("tool", `${toolName}: ${message}`, options);
    this.toolName = toolName;
  }
}

/** The caller asked for something that can't be done; the message says what to do instead. */
export class UsageError extends CoaError {
  override readonly name = "UsageError";

  constructor(message: string, options: ErrorOptions = {}) {
    super("usage", message, options);
  }
}

/** Work was stopped by its caller and says where it can be continued. An abort, not a failure of any boundary. */
export class StoppedError extends CoaError {
  override readonly name = "AbortError";

  constructor(message: string, options: ErrorOptions = {}) {
    super("aborted", message, options);
  }
}

function hintAsOption({ option, value, purpose }: Hint): string {
  const set = value === undefined ? `Set \`${option}\`` : `Set \`${option}: ${JSON.stringify(value)}\``;
  return `${set}${purpose ? ` ${purpose}` : ""}.`;
}

/** A hint in the words of a command line. */
export function hintAsFlag({ option, flag, value, purpose }: Hint): string {
  const name = flag ?? option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return `Pass --${name}${value === undefined ? "" : ` ${value}`}${purpose ? ` ${purpose}` : ""}.`;
}

/** What any thrown value says, in one line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Runs plug-in code and labels whatever escapes it with the boundary it came from. Aborts pass through unchanged. */
export async function atBoundary<T>(boundary: Boundary, doing: string, work: () => Promise<T> | T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CoaError || isAbort(error)) throw error;
    throw new CoaError(boundary, `${doing}: ${messageOf(error)}`, { cause: error });
  }
}

/** Whether an error is the consequence of an aborted signal (not a time-out of our own). */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
