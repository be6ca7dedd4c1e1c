/**
 * Rows to Parquet, in the nested layout that pandas and Arrow call `list<struct<…>>`: an optional list group, a repeated
 * `list`, an `element`. Rows are pulled one row group at a time, so a file may be larger than memory.
 */

/** The type of a column: text, whole number, yes or no, or built of these. */
export type ColumnType = "string" | "int64" | "boolean" | { list: ColumnType } | { struct: Record<string, ColumnType> };

interface SchemaElement {
  name: string;
  type?: "BYTE_ARRAY" | "INT64" | "BOOLEAN";
  converted_type?: "UTF8" | "LIST";
  repetition_type?: "REQUIRED" | "OPTIONAL" | "REPEATED";
  num_children?: number;
}

export async function writeParquet(
  file: string,
  columns: Record<string, ColumnType>,
  rows: AsyncIterable<Record<string, unknown>> | Iterable<Record<string, unknown>>,
): Promise<void> {
  // Loaded when a file is really written: most who import this package never do.
  const { fileWriter, parquetWriteRows } = await import("hyparquet-writer");
  const names = Object.keys(columns);
  const schema: SchemaElement[] = [
    { name: "root", num_children: names.length },
    ...names.flatMap((name) => columnSchema(name, columns[name]!)),
  ];
  await parquetWriteRows({
    writer: fileWriter(file),
    columns: names.map((name) => ({ name })),
    rows: prepared(rows, columns),
    schema,
    rowGroupSize: 2000,
  });
}

function columnSchema(name: string, type: ColumnType): SchemaElement[] {
  if (type === "string") return [{ name, type: "BYTE_ARRAY", converted_type: "UTF8", repetition_type: "OPTIONAL" }];
  if (type === "int64") return [{ name, type: "INT64", repetition_type: "OPTIONAL" }];
  if (type === "boolean") return [{ name, type: "BOOLEAN", repetition_type: "OPTIONAL" }];
  if ("list" in type) {
    return [
      { name, converted_type: "LIST", repetition_type: "OPTIONAL", num_children: 1 },
      { name: "list", repetition_type: "REPEATED", num_children: 1 },
      ...columnSchema("element", type.list),
    ];
  }
  const fields = Object.entries(type.struct);
  return [
    { name, repetition_type: "OPTIONAL", num_children: fields.length },
    ...fields.flatMap(([field, of]) => columnSchema(field, of)),
  ];
}

async function* prepared(
  rows: AsyncIterable<Record<string, unknown>> | Iterable<Record<string, unknown>>,
  columns: Record<string, ColumnType>,
): AsyncGenerator<Record<string, unknown>> {
  for await (const row of rows) {
    yield Object.fromEntries(Object.entries(columns).map(([name, type]) => [name, prepare(row[name], type)]));
  }
}

function prepare(value: unknown, type: ColumnType): unknown {
  if (value === undefined || value === null) return null;
  if (type === "int64") return BigInt(value as number);
  if (typeof type === "string") return value;
  if ("list" in type) return (value as unknown[]).map((item) => prepare(item, type.list));
  const object = value as Record<string, unknown>;
  return Object.fromEntries(Object.entries(type.struct).map(([field, of]) => [field, prepare(object[field], of)]));
}
