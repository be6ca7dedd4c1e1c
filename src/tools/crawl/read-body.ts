/**
 * Reads a response body, decompressed, up to a cap. Decompression streams in small pieces and stops at the cap, so a
 * few kilobytes that would decompress to gigabytes stop at the cap.
 */
import type { Readable } from "node:stream";
import { pipeline } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";

import { CoaError } from "../../core/errors.ts";

/** Encodings we ask for and can undo. */
export const acceptedEncodings = "gzip, deflate, br";

export interface BodyRead {
  bytes: Uint8Array;
  /** The body was longer than the cap. */
  truncated: boolean;
}

/** Reads at most `maxBytes` of a body after undoing its content encoding. */
export async function readBody(body: Readable, encoding: string | undefined, maxBytes: number): Promise<BodyRead> {
  // Cutting a body short makes it emit an error after everybody has stopped listening.
  body.on("error", () => {});
  const encodings = (encoding ?? "")
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
  if (encodings.length > 2) {
    body.destroy();
    throw new CoaError("network", `the content is encoded ${encodings.length} times over: ${encoding}`);
  }
  // Errors of any step surface in the loop below, on the last one.
  const steps = encodings.reverse().map(decompressor);
  const stream = steps.reduce<Readable>((source, step) => pipeline(source, step, () => {}), body);
  const chunks: Uint8Array[] = [];
  let size = 0;
  let truncated = false;
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      if (size + chunk.length > maxBytes) {
        chunks.push(chunk.subarray(0, maxBytes - size));
        size = maxBytes;
        truncated = true;
        break;
      }
      chunks.push(chunk);
      size += chunk.length;
    }
  } finally {
    stream.destroy();
    body.destroy();
  }
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size);
  return { bytes, truncated };
}

function decompressor(name: string) {
  const chunkSize = 64 * 1024;
  if (name === "gzip" || name === "x-gzip") return createGunzip({ chunkSize, finishFlush: constants.Z_SYNC_FLUSH });
  if (name === "deflate") return createInflate({ chunkSize, finishFlush: constants.Z_SYNC_FLUSH });
  if (name === "br") return createBrotliDecompress({ chunkSize });
  if (name === "zstd") return createZstdDecompress({ chunkSize });
  throw new CoaError("network", `the content's encoding is unknown: ${name}`);
}
