/**
 * The text of a Word file: a zip archive whose `word/document.xml` holds paragraphs. The archive is read by its central
 * directory, and no more is unpacked than a document may have, whatever the archive says about itself.
 */
import { inflateRawSync } from "node:zlib";
import { CoaError } from "../../core/errors.ts";
import { scanHtml } from "../crawl/scan-html.ts";

const largestDocument = 64 * 2 ** 20;

/** The paragraphs of a Word file, headings as Markdown. */
export function readDocx(bytes: Uint8Array): string {
  const xml = zipEntry(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), "word/document.xml");
  if (!xml) throw new CoaError("storage", "there is no word/document.xml inside: not a Word file");
  const paragraphs: string[] = [];
  let text = "";
  let inText = false;
  scanHtml(xml.toString("utf8"), {
    open(name, attributes) {
      if (name === "w:t") inText = true;
      else if (name === "w:tab") text += "\t";
      else if (name === "w:br") text += "\n";
      else if (name === "w:pstyle") {
        const level = /^heading\s?([1-6])$/i.exec(attributes.get("w:val") ?? "")?.[1];
        if (level) text = `${"#".repeat(Number(level))} ${text}`;
      }
    },
    close(name) {
      if (name === "w:t") inText = false;
      if (name !== "w:p") return;
      if (text.trim() !== "") paragraphs.push(text.trim());
      text = "";
    },
    text(piece) {
      if (inText) text += piece;
    },
  });
  return paragraphs.join("\n\n");
}

/** One file of a zip archive, or undefined. */
function zipEntry(zip: Buffer, wanted: string): Buffer | undefined {
  const end = zip.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  if (end < 0 || end + 22 > zip.length) throw new CoaError("storage", "not a zip archive, or a damaged one");
  let at = zip.readUInt32LE(end + 16);
  for (let left = zip.readUInt16LE(end + 10); left > 0 && at + 46 <= zip.length; left--) {
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((field) => zip.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ];
    const name = zip.toString("utf8", at + 46, at + 46 + nameLength);
    if (name === wanted) return unpack(zip, at);
    at += 46 + nameLength + extraLength + commentLength;
  }
  return undefined;
}

function unpack(zip: Buffer, entry: number): Buffer {
  const method = zip.readUInt16LE(entry + 10);
  const packed = zip.readUInt32LE(entry + 20);
  const local = zip.readUInt32LE(entry + 42);
  const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const data = zip.subarray(start, start + packed);
  if (method === 0) return data;
  if (method !== 8) throw new CoaError("storage", `packed with method ${method}, which is not read here`);
  return inflateRawSync(data, { maxOutputLength: largestDocument });
}
