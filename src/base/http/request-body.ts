/** Reads a request's body within limits: so many bytes on the wire, so many after unpacking. More is refused, not held. */
import { isUtf8 } from "node:buffer";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";
import { budgets, jsonExcess } from "../../core/budget.ts";
import { messageOf } from "../../core/errors.ts";
import { Refusal } from "./refusal.ts";

/** Counts what all requests together hold, so that many at once can't fill the memory either. */
export interface BodyMeter {
  held: number;
  readonly max: number;
}

/** The bytes as they came. With a meter they count until the caller takes them off it. */
export async function readBytes(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  { stated, meter }: { stated?: string; meter?: BodyMeter } = {},
): Promise<Buffer> {
  if (Number(stated ?? 0) > maxBytes)
    throw new Refusal(413, `the body has ${stated} bytes, at most ${maxBytes} are taken`);
  const kept: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of chunks) {
      size += chunk.length;
      if (meter) meter.held += chunk.length;
      if (meter && meter.held > meter.max) throw new Refusal(503, "too much is arriving at once: try again");
      if (size > maxBytes) throw new Refusal(413, `the body has more than ${maxBytes} bytes`);
      kept.push(chunk);
    }
  } catch (error) {
    if (meter) meter.held -= size;
    throw error instanceof Refusal ? error : new Refusal(499, `the client left: ${messageOf(error)}`);
  }
  return Buffer.concat(kept, size);
}

/** Bytes as JSON; what is not UTF-8, not JSON, nested without end or of too many parts is refused. */
export function jsonOf(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new Refusal(400, "the body is not UTF-8");
  const text = bytes.toString("utf8");
  const excess = jsonExcess(text, budgets.request);
  if (excess) throw new Refusal(400, `the body ${excess}`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal(400, `the body is not JSON: ${messageOf(error).slice(0, 200)}`);
  }
}

const unpackers = {
  gzip: promisify(gunzip),
  "x-gzip": promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
} as const;

/** Unpacks a body; an unknown coding, a broken one and a bomb are refused. */
export async function unpack(body: Buffer, encoding: string | undefined, maxUnpackedBytes: number): Promise<Buffer> {
  const name = (encoding ?? "").trim().toLowerCase();
  if (name === "" || name === "identity") return body;
  const unpacker = unpackers[name as keyof typeof unpackers];
  if (!unpacker) throw new Refusal(415, `content-encoding "${name}" is not known`);
  try {
    return (await unpacker(body, { maxOutputLength: maxUnpackedBytes })) as Buffer;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ERR_BUFFER_TOO_LARGE") {
      throw new Refusal(413, `the body unpacks to more than ${maxUnpackedBytes} bytes`);
    }
    throw new Refusal(400, `the body is not valid ${name}: ${(error as Error).message}`);
  }
}
