/** Bytes to text: the byte order mark decides, then the header, then what the page says of itself, then a guess. */

/** Decodes a text body; `contentType` is the header's value. */
export function decodeText(bytes: Uint8Array, contentType = ""): string {
  const marked = byteOrderMark(bytes);
  if (marked) return new TextDecoder(marked).decode(bytes);
  const header = /charset\s*=\s*["']?\s*([^\s"';>]+)/i.exec(contentType)?.[1];
  const declared = header ?? declaredInside(bytes);
  const decoder = declared === undefined ? undefined : decoderFor(declared);
  if (decoder) return decoder.decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // A multi-byte character cut off by a size cap must not turn a whole page into another encoding.
    const lenient = new TextDecoder("utf-8").decode(bytes);
    const broken = lenient.split("\ufffd").length - 1;
    return broken <= 1 + lenient.length / 10_000 ? lenient : new TextDecoder("windows-1252").decode(bytes);
  }
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return undefined;
}

/** The charset in a meta tag or an XML declaration near the start. */
function declaredInside(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 4096));
  const xml = /^\s*<\?xml[^>]*encoding\s*=\s*["']([^"']+)["']/i.exec(start)?.[1];
  const meta = /<meta[^>]+charset\s*=\s*["']?\s*([^\s"';/>]+)/i.exec(start)?.[1];
  const declared = xml ?? meta;
  // A page that could be read up to its meta tag is not UTF-16, whatever the tag says.
  return declared !== undefined && /^utf-?16/i.test(declared) ? "utf-8" : declared;
}

function decoderFor(charset: string): TextDecoder | undefined {
  try {
    return new TextDecoder(charset);
  } catch {
    return undefined;
  }
}
