/**
 * State that a client keeps for us and sends back: compressed, encrypted and signed (AES-256-GCM), so that no client reads
 * or changes it. It opens only for the caller it was made for, until it expires, and never unpacks to more than a
 * limit. The key is in the store, so that what was sealed before a restart, or by another server of the store, can be opened.
 */

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import { Refusal } from "../base/http/refusal.ts";

export type Seal = ReturnType<typeof openSeal>;

export interface SealOptions {
  /** 32 bytes; made up for this process by default. */
  key?: Uint8Array;
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

export function openSeal(options: SealOptions = {}) {
  const { key = randomBytes(32), lifeMs = 24 * 3_600_000, maxBytes = 16 * 2 ** 20, now = Date.now } = options;
  const bound = (owner: string) => Buffer.from(`${prefix}${owner}`);
  return {
    /** The value as text that only this server reads, for this owner; undefined where it is too large to be handed out. */
    close(value: unknown, owner: string): string | undefined {
      const plain = Buffer.from(JSON.stringify({ until: now() + lifeMs, value }));
      if (plain.length > maxBytes) return undefined;
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(bound(owner));
      const body = Buffer.concat([cipher.update(deflateRawSync(plain)), cipher.final()]);
      return prefix + Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64url");
    },
    /** What was sealed; refuses what was changed, is another owner's or has expired. */
    open(text: string, owner: string): unknown {
      const bytes = Buffer.from(isSealed(text) ? text.slice(prefix.length) : "", "base64url");
      const packed = bytes.length > 28 ? decrypted(bytes, key, bound(owner)) : undefined;
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

function decrypted(bytes: Buffer, key: Uint8Array, bound: Buffer): Buffer | undefined {
  const cipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12));
  cipher.setAAD(bound).setAuthTag(bytes.subarray(12, 28));
  try {
    return Buffer.concat([cipher.update(bytes.subarray(28)), cipher.final()]);
  } catch {
    return undefined; // sealed with another key, or with none
  }
}

function refused(why: string): Refusal {
  return new Refusal(400, `the encrypted state can't be opened: ${why}`, { code: "invalid_encrypted_content" });
}
