/** Tar archives of a few files, written and read in memory: what adapters travel in between training servers. */
import { CoaError } from "../../core/errors.ts";

const block = 512;

export function writeTar(files: Readonly<Record<string, Uint8Array>>): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const [name, data] of Object.entries(files)) {
    if (Buffer.byteLength(name) > 100) throw new CoaError("storage", `the name ${name} is too long for an archive`);
    const header = Buffer.alloc(block);
    header.write(name, 0);
    header.write("0000644\0", 100);
    header.write("0000000\0", 108);
    header.write("0000000\0", 116);
    header.write(`${data.length.toString(8).padStart(11, "0")}\0`, 124);
    header.write("00000000000\0", 136);
    header.write("        ", 148);
    header.write("0", 156);
    header.write("ustar\x0000", 257, "latin1");
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    parts.push(header, data, new Uint8Array((block - (data.length % block)) % block));
  }
  return Buffer.concat([...parts, Buffer.alloc(2 * block)]);
}

/** The plain files of an archive by name; folders and other entries are left out. */
export function readTar(archive: Uint8Array): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  const field = (start: number, length: number) => {
    const bytes = archive.subarray(start, start + length);
    const end = bytes.indexOf(0);
    return Buffer.from(end === -1 ? bytes : bytes.subarray(0, end)).toString("utf8");
  };
  for (let at = 0; at + block <= archive.length; ) {
    const name = field(at, 100);
    if (name === "") break;
    const size = Number.parseInt(field(at + 124, 12).trim() || "0", 8);
    if (!(size >= 0) || at + block + size > archive.length)
      throw new CoaError("format", `the archive ends within ${name}`);
    const kind = String.fromCharCode(archive[at + 156] ?? 0);
    if (kind === "0" || kind === "\0")
      files.set(name.replace(/^\.\//, ""), archive.subarray(at + block, at + block + size));
    at += block + Math.ceil(size / block) * block;
  }
  return files;
}
