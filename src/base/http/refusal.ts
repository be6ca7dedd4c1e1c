/**
 * What a request is refused with. A refusal has its own status; an error of ours gets one by the boundary that broke, by one
 * table for all servers; anything else is a bug: its words stay in the log, because they may say what no caller should know.
 */
import type { z } from "zod";
import { type Boundary, CoaError, isAbort, messageOf } from "../../core/errors.ts";

export interface RefusalOptions {
  /** A stable word: `model_not_found`, `invalid_api_key`. */
  code?: string;
  /** The field of the request that is wrong. */
  param?: string;
  headers?: Record<string, string>;
  /** What broke, for the log alone. */
  cause?: unknown;
}

/** A request that can't be taken, with everything its answer needs. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;
  readonly headers: Record<string, string>;
  constructor(status: number, message: string, options: RefusalOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.status = status;
    this.code = options.code ?? null;
    this.param = options.param ?? null;
    this.headers = options.headers ?? {};
  }
}

/** Statuses by the boundary that broke: what the caller sent, what stands behind this server; all others are 500. */
const statusOfBoundary: Partial<Record<Boundary, number>> = {
  usage: 400,
  format: 400,
  record: 400,
  model: 502,
  network: 502,
};

/** Protocols whose clients expect another status for a cause, by the code of the refusal. */
const statusOfProtocol = {
  // Tinker's servers are written with pydantic, and its clients read 422 as "the form is wrong".
  tinker: { invalid_value: 422, format: 422, usage: 422 },
} as const satisfies Record<string, Record<string, number>>;

/** A protocol with statuses of its own. */
export type Protocol = keyof typeof statusOfProtocol;

export function statusOf(error: unknown, protocol?: Protocol): number {
  const { code } = error as { code?: unknown };
  const own: Record<string, number> = protocol ? statusOfProtocol[protocol] : {};
  if (error instanceof Refusal) return own[String(code)] ?? error.status;
  if (!(error instanceof CoaError)) return 500;
  if (error.boundary === "usage" && code === "not-found") return 404;
  return own[error.boundary] ?? statusOfBoundary[error.boundary] ?? 500;
}

export function refusalOf(error: unknown, protocol?: Protocol): Refusal {
  const status = statusOf(error, protocol);
  if (error instanceof Refusal && error.status === status) return error;
  if (status === 500) return new Refusal(500, "internal error: the server's log says more", { code: "internal_error" });
  const { code, param, headers } = error as Refusal;
  const message = status === 502 ? withoutAddresses(messageOf(error)) : messageOf(error);
  return new Refusal(status, message, { code: code ?? undefined, param: param ?? undefined, headers, cause: error });
}

/** Why work broke off: where its signal stopped it, that has the reason. */
export function stopCause(signal: AbortSignal, error: unknown): unknown {
  return signal.aborted && isAbort(error) ? signal.reason : error;
}

/** A text without addresses of what stands behind this server: they are for the log, not for callers. */
export function withoutAddresses(text: string): string {
  return text
    .replace(/\b[a-z][\w+.-]*:\/\/[^\s"'<>)\]]+/gi, "<address>")
    .replace(/\b(ENOTFOUND|EAI_AGAIN) \S+/g, "$1 <address>")
    .replace(/(?:\b[\w-]+(?:\.[\w-]+)*|\[[0-9a-f:.]+\]|(?<=\s)[0-9a-f]*(?::[0-9a-f]*){2,}):\d{2,5}\b/gi, "<address>")
    .replace(/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, "<address>");
}

/** A value of this form; another is refused. */
export function parse<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [{ path, message }] = parsed.error.issues as [z.core.$ZodIssue];
  const param = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("").replace(/^\./, ""); // biome-ignore format: one path
  throw new Refusal(400, param ? `${param}: ${message}` : message, {
    code: "invalid_value",
    ...(param && { param }),
  });
}
