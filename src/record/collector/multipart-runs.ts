/** LangSmith's multipart batches: each run in parts named `post.<id>`, `post.<id>.inputs`, `patch.<id>.outputs`… */

import { Refusal } from "../../base/http/refusal.ts";
import { jsonOf, unpack } from "../../base/http/request-body.ts";
import { asObject } from "../../core/json-value.ts";

/** The batch as `{post, patch}`, as the plain endpoint has it. */
export async function readMultipartRuns(
  body: Buffer,
  contentType: string,
  maxBytes: number,
): Promise<{ post: unknown[]; patch: unknown[] }> {
  const boundary = /boundary=(?:"([^"]{1,200})"|([^;\s]{1,200}))/i.exec(contentType);
  const mark = boundary?.[1] ?? boundary?.[2];
  if (!mark) throw new Refusal(400, "multipart without a boundary");
  const runs = { post: new Map<string, Record<string, unknown>>(), patch: new Map<string, Record<string, unknown>>() };
  let left = maxBytes;
  for (const part of split(body, `--${mark}`)) {
    const end = part.indexOf("\r\n\r\n");
    if (end === -1) throw new Refusal(400, "a part has no headers");
    const headers = part.subarray(0, end).toString("utf8");
    const name = /name="([^"]*)"/i.exec(headers)?.[1] ?? "";
    const [kind, id, field] = name.split(".");
    if ((kind !== "post" && kind !== "patch") || !id) continue; // attachments and feedback are not part of a run
    const packed = /content-encoding:\s*([\w-]+)/i.exec(headers)?.[1];
    // Many small bombs are one large one: the limit is for all parts together.
    const bytes = await unpack(part.subarray(end + 4), packed, Math.max(1, left));
    left -= bytes.length;
    if (left < 0) throw new Refusal(413, `the parts unpack to more than ${maxBytes} bytes`);
    const run = runs[kind].get(id) ?? { id };
    const value = jsonOf(bytes);
    if (field === undefined) Object.assign(run, asObject(value) ?? {}, { id });
    else if (["inputs", "outputs", "extra", "events", "serialized", "error"].includes(field)) run[field] = value;
    runs[kind].set(id, run);
  }
  return { post: [...runs.post.values()], patch: [...runs.patch.values()] };
}

function split(body: Buffer, mark: string): Buffer[] {
  const parts: Buffer[] = [];
  let from = body.indexOf(mark);
  if (from === -1) throw new Refusal(400, "the boundary is not in the body");
  while (from !== -1) {
    const start = from + mark.length;
    if (body.subarray(start, start + 2).toString() === "--") return parts;
    const next = body.indexOf(mark, start);
    if (next === -1) throw new Refusal(400, "the last part has no end");
    parts.push(body.subarray(start + 2, next - 2));
    from = next;
  }
  return parts;
}
