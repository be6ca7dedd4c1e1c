/**
 * Where exchanges are written: one JSONL file for each writer, so that the proxy and any number of recorded processes
 * never wait for each other.
 */
import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { type CallLine, callEncoder, readCalls } from "../base/files/call-store.ts";
import { openJsonl } from "../base/files/open-jsonl.ts";
import type { ReadOptions } from "../base/files/read-jsonl.ts";
import type { Unrecorded } from "./unrecorded.ts";
import { type WireExchange, wireExchangeSchema } from "./wire-exchange.ts";

export interface CallLog {
  readonly file: string;
  /** Resolves once the exchange would survive the end of this process. */
  append(exchange: WireExchange): Promise<void>;
  close(): Promise<void>;
}

/** A file name that no other writer uses. */
export function logName(kind: "calls" | "traces" | "unrecorded"): string {
  return `${kind}-${new Date().toISOString().replace(/[:.]/g, "-")}-${process.pid}-${randomBytes(3).toString("hex")}.jsonl`;
}

export async function openCallLog(folder: string): Promise<CallLog> {
  const file = join(folder, logName("calls"));
  const writer = await openJsonl<CallLine>(file, { lock: false });
  const encoder = callEncoder();
  return {
    file,
    async append(exchange) {
      const lines = encoder.linesOf(exchange);
      await writer.appendAll(lines);
      encoder.written(lines);
    },
    close: writer.close,
  };
}

/** All exchanges of a folder, file by file in the order the files were opened. */
export async function* readCallLogs(folder: string, options: ReadOptions = {}): AsyncGenerator<WireExchange> {
  const names = await readdir(folder).catch(() => [] as string[]);
  for (const name of names.filter((one) => /^calls-.*\.jsonl$/.test(one)).sort()) {
    yield* readCallLog(join(folder, name), options);
  }
}

export async function* readCallLog(file: string, options: ReadOptions = {}): AsyncGenerator<WireExchange> {
  for await (const exchange of readCalls(file, options)) yield wireExchangeSchema.parse(exchange);
}

/** Writes down what passed without being recorded; nothing is written where nothing did. */
export async function writeUnrecorded(folder: string, counts: readonly Unrecorded[]): Promise<void> {
  if (counts.length === 0) return;
  const writer = await openJsonl<Unrecorded>(join(folder, logName("unrecorded")), { lock: false });
  await Promise.all(counts.map((one) => writer.append(one)));
  await writer.close();
}
