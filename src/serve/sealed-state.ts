/**
 * State that a client keeps for us and sends back: compressed, encrypted and signed (AES-256-GCM), so that no client reads
 * or changes it. It opens only for the caller it was made for, until it expires, and never unpacks to more than a
 * limit. The key is in a file, so that state from before a restart can be opened after it; of several keys the first
 * seals and all open.
 */

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { Refusal } from "../base/http/refusal.ts";
import { UsageError } from "../core/errors.ts";

export interface Seal {
  /** The value as text that only this server reads, for this owner; undefined where it is too large to be handed out. */
  close(value: unknown, owner: string): string | undefined;
  /** What was sealed; refuses what was changed, is another owner's or has expired. */
  open(text: string, owner: string): unknown;
}

export interface SealOptions {
  /** 32 bytes each; the first seals. One made up for this process by default. */
  keys?: readonly Uint8Array[];
  /** How long it can be opened; a day by default. */
  lifeMs?: number;
  /** Largest state before packing; 16 MB by default. */
  maxBytes?: number;
  now?: () => number;
}

const prefix = "coa1.";

/** Whether a text is one of our seals at all; others are not ours to read. */
export function isSealed(text: string): boolean {
  return text.startsWith(prefix);
}

export function openSeal(options: SealOptions = {}): Seal {
  const { keys = [randomBytes(32)], lifeMs = 24 * 3_600_000, maxBytes = 16 * 2 ** 20, now = Date.now } = options;
  const bound = (owner: string) => Buffer.from(`${prefix}${owner}`);
  return {
    close(value, owner) {
      const plain = Buffer.from(JSON.stringify({ until: now() + lifeMs, value }));
      if (plain.length > maxBytes) return undefined;
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", keys[0]!, nonce).setAAD(bound(owner));
      const body = Buffer.concat([cipher.update(deflateRawSync(plain)), cipher.final()]);
      return prefix + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64url");
    },
    open(text, owner) {
      const bytes = Buffer.from(isSealed(text) ? text.slice(prefix.length) : "", "base64url");
      const packed = bytes.length > 28 ? decrypted(bytes, keys, bound(owner)) : undefined;
      if (!packed) throw refused("it was changed, or belongs to another key or server");
      let plain: Buffer;
      try {
        plain = inflateRawSync(packed, { maxOutputLength: maxBytes });
      } catch {
        throw refused(`it unpacks to more than ${maxBytes} bytes`);
      }
      const { until, value } = JSON.parse(plain.toString()) as { until: number; value: unknown };
      if (now() > until) throw refused("it has expired: send the conversation again from its question");
      return value;
    },
  };
}

function decrypted(bytes: Buffer, keys: readonly Uint8Array[], bound: Buffer): Buffer | undefined {
  for (const key of keys) {
    const cipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12));
    cipher.setAAD(bound).setAuthTag(bytes.subarray(12, 28));
    try {
      return Buffer.concat([cipher.update(bytes.subarray(28)), cipher.final()]);
    } catch {
      // Sealed with another key, or not with any of ours.
    }
  }
  return undefined;
}

function refused(why: string): Refusal {
  return new Refusal(400, `the encrypted state can't be opened: ${why}`, { code: "invalid_encrypted_content" });
}

/** The keys of a file, one to a line in hexadecimal, the newest first; a file that is not there is made with a new key. */
export async function sealKeys(file: string): Promise<Uint8Array[]> {
  const known = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new UsageError(`can't read the key in ${file}: ${error.message}`);
  });
  if (known === undefined) {
    await makeKey(file);
    return sealKeys(file);
  }
  const lines = known.split("\n").map((line) => line.trim());
  const keys = lines.filter((line) => line !== "" && !line.startsWith("#"));
  if (keys.length === 0 || !keys.every((key) => /^[0-9a-f]{64}$/i.test(key))) {
    throw new UsageError(`${file} must hold keys of 64 hexadecimal digits, one to a line`);
  }
  return keys.map((key) => Buffer.from(key, "hex"));
}

/** Made under another name and then linked: of two servers that start at once one makes the key, and both read it whole. */
async function makeKey(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = `${file}.${randomBytes(4).toString("hex")}.tmp`;
  await writeFile(temporary, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flush: true });
  try {
    await link(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}
