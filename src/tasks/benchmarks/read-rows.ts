/** Rows of a dataset file, whatever it is written in: JSON (an array, or an object holding one), JSONL, CSV, TSV, or parquet. */
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { readJsonArray } from "../../base/files/read-json-array.ts";
import { readJsonl } from "../../base/files/read-jsonl.ts";
import { CoaError, messageOf, UsageError } from "../../core/errors.ts";

export type Row = Record<string, unknown>;

/** Streams the rows of a file; the format follows from the extension. */
export async function* readRows(file: string, options: { signal?: AbortSignal } = {}): AsyncGenerator<Row> {
  const extension = extname(file).toLowerCase();
  if (extension === ".jsonl" || extension === ".ndjson") yield* readJsonl<Row>(file, undefined, options);
  else if (extension === ".json") yield* readJsonArray(file, options) as AsyncGenerator<Row>;
  else if (extension === ".csv" || extension === ".tsv")
    yield* csvRows(await readFile(file, "utf8"), extension === ".csv" ? "," : "\t", file);
  else if (extension === ".parquet") yield* parquetRows(file, options.signal);
  else throw new UsageError(`can't read ${file}: a dataset is a .json, .jsonl, .csv, .tsv or .parquet file`);
}

async function* parquetRows(file: string, signal?: AbortSignal): AsyncGenerator<Row> {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } = await import("hyparquet");
  const { compressors } = await import("hyparquet-compressors");
  const buffer = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(buffer).catch((error: unknown) => {
    throw new CoaError("format", `${file} is not a parquet file: ${messageOf(error)}`);
  });
  const total = Number(metadata.num_rows);
  const step = 500;
  for (let rowStart = 0; rowStart < total; rowStart += step) {
    signal?.throwIfAborted();
    const rows = await parquetReadObjects({
      file: buffer,
      metadata,
      compressors,
      rowStart,
      rowEnd: Math.min(total, rowStart + step),
    });
    for (const row of rows) yield plainValues(row) as Row;
  }
}

/** Whole numbers come out of parquet as bigint, which JSON can't hold. */
function plainValues(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (Array.isArray(value)) return value.map(plainValues);
  if (value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainValues(inner)]));
  }
  return value;
}

/** The rows of a table, by the names in its first line. */
export function csvRows(text: string, separator: "," | "\t", file: string): Row[] {
  const [header, ...records] = recordsOf(text.replace(/^\ufeff/, ""), separator, file);
  if (!header) throw new CoaError("format", `${file} is empty`);
  return records.map(({ fields, line }) => {
    if (fields.length !== header.fields.length)
      throw new CoaError(
        "format",
        `${file}:${line}: ${fields.length} fields where the first line names ${header.fields.length}`,
      );
    return Object.fromEntries(header.fields.map((name, i) => [name.trim(), fields[i]]));
  });
}

function recordsOf(text: string, separator: string, file: string): { fields: string[]; line: number }[] {
  const records: { fields: string[]; line: number }[] = [];
  let fields: string[] = [];
  let at = 0;
  let line = 1;
  let startLine = 1;
  while (at < text.length) {
    let field = "";
    if (text[at] === '"') {
      const opened = line;
      for (at++; ; at++) {
        if (at >= text.length) throw new CoaError("format", `${file}:${opened}: a quoted field is never closed`);
        if (text[at] === '"') {
          if (text[at + 1] !== '"') break;
          at++;
        }
        if (text[at] === "\n") line++;
        field += text[at];
      }
      at++;
    }
    // What follows a closing quote up to the separator belongs to the field, as in hand-made files.
    while (at < text.length && text[at] !== separator && text[at] !== "\n" && text[at] !== "\r") field += text[at++];
    fields.push(field);
    if (text[at] === separator) {
      at++;
      if (at < text.length) continue;
      fields.push("");
    }
    if (text[at] === "\r") at++;
    if (text[at] === "\n") at++;
    line++;
    if (fields.length > 1 || fields[0] !== "") records.push({ fields, line: startLine });
    fields = [];
    startLine = line;
  }
  return records;
}
