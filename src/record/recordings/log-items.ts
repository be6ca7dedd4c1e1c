/**
 * What lies in a folder of recordings, line by line in the order of time, each with its place so that it can be read
 * again alone. Several writers append side by side; a file is opened when time reaches the moment in its name, so only
 * those that were written at once are open at once.
 */
import { closeSync, openSync, readSync } from "node:fs";
import { basename } from "node:path";
import type { z } from "zod";
import { fillParts, tellMissing } from "../../base/files/call-store.ts";
import { type ReadOptions, readJsonLines } from "../../base/files/read-jsonl.ts";
import { asObject, type Json } from "../../core/json-value.ts";
import { type TeamRun, teamRunSchema } from "../../core/team-run.ts";
import { type TraceRecord, traceRecordSchema } from "../trace-log.ts";
import { type WireExchange, wireExchangeSchema } from "../wire-exchange.ts";

/** Where a line is. */
export interface Place {
  source: number;
  offset: number;
  length: number;
}

/** One line that says something of its own: an exchange, a payload of traces, a run that was imported. */
export interface Item extends Place {
  exchange?: WireExchange;
  record?: TraceRecord;
  run?: TeamRun;
}

/** A file of a folder, and how far it was read. */
export interface Source {
  id: number;
  file: string;
  from: { offset: number; line: number };
}

/** Where the parts of calls are kept track of. */
export interface PartPlaces {
  add(part: string, place: Place): void;
  find(part: string): Place | undefined;
  fileOf(source: number): string;
}

/** What the lines of a file must be, by how its name begins; calls are looked at one by one. */
const schemas: Record<string, z.ZodType> = { traces: traceRecordSchema, runs: teamRunSchema };

export interface ItemReader {
  /** The new lines of these files; `from` of each moves on to the end of its last whole line. */
  read(sources: readonly Source[], options: ReadOptions): AsyncGenerator<Item>;
  readAt(place: Place): Item;
  close(): void;
}

/** A reader that keeps the parts used last, up to so many bytes, and finds the others by their places. */
export function itemReader(places: PartPlaces, cachedBytes: number): ItemReader {
  const handles = new Map<number, number>();
  const cached = new Map<string, { value: unknown; length: number }>();
  let bytes = 0;

  const keep = (part: string, value: unknown, length: number) => {
    if (cached.has(part)) return;
    cached.set(part, { value, length });
    bytes += length;
    for (const [oldest, { length: size }] of cached) {
      if (bytes <= cachedBytes) break;
      cached.delete(oldest);
      bytes -= size;
    }
  };
  const lineAt = ({ source, offset, length }: Place): Json => {
    let handle = handles.get(source);
    if (handle === undefined) handles.set(source, (handle = openSync(places.fileOf(source), "r")));
    const buffer = Buffer.alloc(length);
    readSync(handle, buffer, 0, length, offset);
    return JSON.parse(buffer.toString("utf8")) as Json;
  };
  const partValue = (part: string): unknown => {
    const found = cached.get(part);
    if (found) {
      // What is used moves to the young end.
      cached.delete(part);
      cached.set(part, found);
      return found.value;
    }
    const place = places.find(part);
    if (!place) return undefined;
    const { value } = lineAt(place);
    keep(part, value, place.length);
    return value;
  };
  /** What a line says; a part is only kept, and a call that lacks one is its name. */
  const itemOf = (place: Place, line: Json): Item | string | undefined => {
    const { part } = line;
    if (typeof part === "string") {
      places.add(part, place);
      keep(part, line["value"], place.length);
    }
    const exchange = asObject(line["exchange"]);
    if (exchange) return fillParts(exchange, partValue) ?? { ...place, exchange: wireExchangeSchema.parse(exchange) };
    if ("payload" in line) return { ...place, record: line as unknown as TraceRecord };
    return "steps" in line ? { ...place, run: line as unknown as TeamRun } : undefined;
  };

  async function* itemsOf(source: Source, options: ReadOptions): AsyncGenerator<Item> {
    const schema = schemas[basename(source.file).split(/[-.]/)[0]!] as z.ZodType<Json> | undefined;
    const reading = { ...options, from: { ...source.from } };
    for await (const { value, line, complete, offset, length } of readJsonLines(source.file, schema, reading)) {
      if (!complete) return;
      source.from = { offset: offset + length + 1, line };
      const item = itemOf({ source: source.id, offset, length }, value);
      if (typeof item === "string") tellMissing(source.file, item, options);
      else if (item) yield item;
    }
  }

  return {
    async *read(sources, options) {
      const waiting = sources
        .map((source) => ({ source, at: openedAt(source.file) }))
        .sort((a, b) => a.at - b.at || (a.source.file < b.source.file ? -1 : 1));
      const open: { items: AsyncGenerator<Item>; next: Item }[] = [];
      let now = 0;
      while (waiting.length > 0 || open.length > 0) {
        while (waiting.length > 0 && (open.length === 0 || waiting[0]!.at <= now)) {
          const items = itemsOf(waiting.shift()!.source, options);
          const { value, done } = await items.next();
          if (!done) open.push({ items, next: value });
        }
        const first = open.reduce((a, b) => (timeOf(b.next) < timeOf(a.next) ? b : a), open[0]!);
        if (!first) continue;
        now = Math.max(now, timeOf(first.next));
        yield first.next;
        const { value, done } = await first.items.next();
        if (done) open.splice(open.indexOf(first), 1);
        else first.next = value;
      }
    },
    readAt: (place) => itemOf(place, lineAt(place)) as Item,
    close() {
      for (const handle of handles.values()) closeSync(handle);
    },
  };
}

/** When an item was written. */
export function timeOf({ exchange, record, run }: Item): number {
  return exchange?.endedAt ?? record?.at ?? run?.steps.at(-1)?.endedAt ?? 0;
}

/** The moment in the name of a log. */
function openedAt(file: string): number {
  const [, date, hour, minute, second] = /-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)/.exec(file) ?? [];
  return date === undefined ? 0 : Date.parse(`${date}T${hour}:${minute}:${second}Z`);
}
