/** Reads a request's body within limits: so many bytes on the wire, so many after unpacking. More is refused, not held. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";

/** A request that can't be taken, with the status that says so. */
export class RefusedRequest extends Error {
  override readonly name = "RefusedRequest";
  readonly status: number;
  readonly headers: Record<string, string>;
  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** Counts what all requests together hold, so that many at once can't fill the memory either. */
export interface BodyMeter {
  held: number;
  readonly max: number;
}

/** The raw bytes. With a meter they count until the caller takes them off it. */
export async function readBytes(request: IncomingMessage, maxBytes: number, meter?: BodyMeter): Promise<Buffer> {
  const stated = Number(request.headers["content-length"] ?? 0);
  if (stated > maxBytes) throw new RefusedRequest(413, `the body has ${stated} bytes, at most ${maxBytes} are taken`);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (meter) meter.held += chunk.length;
      if (meter && meter.held > meter.max) throw new RefusedRequest(503, "too much is arriving at once: try again");
      if (size > maxBytes) throw new RefusedRequest(413, `the body has more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (meter) meter.held -= size;
    throw error;
  }
  return Buffer.concat(chunks, size);
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
  if (!unpacker) throw new RefusedRequest(415, `content-encoding "${name}" is not known`);
  try {
    return (await unpacker(body, { maxOutputLength: maxUnpackedBytes })) as Buffer;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ERR_BUFFER_TOO_LARGE") {
      throw new RefusedRequest(413, `the body unpacks to more than ${maxUnpackedBytes} bytes`);
    }
    throw new RefusedRequest(400, `the body is not valid ${name}: ${(error as Error).message}`);
  }
}

/** A request's headers by name. */
export function headersOf(request: IncomingMessage): (name: string) => string | undefined {
  return (name) => {
    const value = request.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  };
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const body = JSON.stringify(value);
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}
