/** Comma or tab separated values with a header line: quoted fields may hold separators, line ends and doubled quotes. */
import { CoaError } from "../../core/errors.ts";
import type { Row } from "./read-rows.ts";

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
