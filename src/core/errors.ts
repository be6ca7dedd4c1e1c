/**
 * The error model, in four sentences. `CoaError` names the boundary that broke; anything else that escapes is a bug.
 * Plug-in code (models, tools, graders, user filters) throws plain errors, and its caller labels them once with
 * `atBoundary`. A failed run is data: it is recorded in `trajectory.ending` and never stops its siblings.
 * A bad flag or a corrupt file stops the program before any work is done (`UsageError`, exit code 2).
 */

/** Where the outside world met our code when something went wrong. */
export type Boundary =
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
  | "network";

/** An error that says which boundary broke, what was tried and what to do. */
export class CoaError extends Error {
  override readonly name: string = "CoaError";
  readonly boundary: Boundary;
  /** Trying the same call again may work (a 503, a timeout), as opposed to a call that can never work. */
  readonly retryable: boolean;

  constructor(boundary: Boundary, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.boundary = boundary;
    this.retryable = options.retryable ?? false;
  }
}

/** A tool could not do what the model asked. The chain records it as an observation and goes on. */
export class ToolError extends CoaError {
  override readonly name = "ToolError";
  readonly toolName: string;

  constructor(toolName: string, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super("tool", `${toolName}: ${message}`, options);
    this.toolName = toolName;
  }
}

/** The person at the terminal asked for something that can't be done; the message says what to type instead. */
export class UsageError extends CoaError {
  override readonly name = "UsageError";
  constructor(message: string, options: { cause?: unknown } = {}) {
    super("usage", message, options);
  }
}

/** What any thrown value says, in one line. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Runs plug-in code and labels whatever escapes it with the boundary it came from. Aborts pass through untouched. */
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
