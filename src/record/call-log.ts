/**
 * Where exchanges are written: one JSONL file for each writer, so that the proxy and any number of recorded processes
 * never wait for each other. Every call repeats its whole history, so messages and tools are written once and referred
 * to by hash; a log grows with what was said, not with its square.
 */
import { hash, randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { openJsonl } from "../base/files/open-jsonl.ts";
import { type ReadOptions, readJsonl } from "../base/files/read-jsonl.ts";
import { asArray, asObject, canonicalJson } from "../base/wire/json-value.ts";
import { type WireExchange, wireExchangeSchema } from "./wire-exchange.ts";

const shared = ["messages", "input", "tools"] as const;

type Line = { part: string; value: unknown } | { exchange: unknown };

export interface CallLog {
  readonly file: string;
  /** Resolves once the exchange would survive the end of this process. */
  append(exchange: WireExchange): Promise<void>;
  close(): Promise<void>;
}

/** A file name that no other writer uses. */
export function logName(kind: "calls" | "traces"): string {
  return `${kind}-${new Date().toISOString().replace(/[:.]/g, "-")}-${process.pid}-${randomBytes(3).toString("hex")}.jsonl`;
}

/** Opens a log of its own in a folder of recordings. */
export async function openCallLog(folder: string): Promise<CallLog> {
  const file = join(folder, logName("calls"));
  const writer = await openJsonl<Line>(file, { lock: false });
  const seen = new Set<string>();
  return {
    file,
    async append(exchange) {
      await Promise.all(encodeExchange(exchange, seen).map((line) => writer.append(line)));
    },
    close: writer.close,
  };
}

/** The lines of one exchange: parts not seen before, then the exchange with references to them. */
export function encodeExchange(exchange: WireExchange, seen: Set<string>): Line[] {
  const lines: Line[] = [];
  const request = asObject(exchange.request);
  const encoded: Record<string, unknown> = { ...request };
  for (const key of shared) {
    if (!Array.isArray(request?.[key])) continue;
    encoded[key] = {
      $parts: request[key].map((value) => {
        const text = JSON.stringify(value);
        const part = hash("sha256", text).slice(0, 24);
        if (!seen.has(part)) {
          seen.add(part);
          lines.push({ part, value });
        }
        return part;
      }),
    };
  }
  lines.push({ exchange: { ...exchange, request: request ? encoded : exchange.request } });
  return lines;
}

/** All exchanges of a folder, file by file in the order the files were opened. */
export async function* readCallLogs(folder: string, options: ReadOptions = {}): AsyncGenerator<WireExchange> {
  const names = await readdir(folder).catch(() => [] as string[]);
  for (const name of names.filter((one) => /^calls-.*\.jsonl$/.test(one)).sort()) {
    yield* readCallLog(join(folder, name), options);
  }
}

/** The exchanges of one log. */
export async function* readCallLog(file: string, options: ReadOptions = {}): AsyncGenerator<WireExchange> {
  const parts = new Map<string, unknown>();
  for await (const line of readJsonl<Partial<{ part: string; value: unknown; exchange: unknown }>>(
    file,
    undefined,
    options,
  )) {
    if (typeof line.part === "string") parts.set(line.part, line.value);
    const exchange = asObject(line.exchange);
    if (!exchange) continue;
    const request = asObject(exchange["request"]);
    for (const key of shared) {
      const references = asObject(request?.[key])?.["$parts"];
      if (request && references) request[key] = asArray(references).map((part) => parts.get(String(part)));
    }
    yield wireExchangeSchema.parse(exchange);
  }
}

/** Fields that differ between runs of the same program and say nothing about what is asked. */
const volatileFields = new Set(["user", "metadata", "safety_identifier", "prompt_cache_key", "service_tier", "store"]);

/** The key under which an exchange is replayed: the path's end and what was asked. */
export function replayKey(path: string, request: unknown): string {
  const body = asObject(request);
  const asked = body ? Object.fromEntries(Object.entries(body).filter(([key]) => !volatileFields.has(key))) : request;
  return hash("sha256", `${path.split("?")[0]?.replace(/^.*\/v1\//, "")}\n${canonicalJson(asked)}`);
}
