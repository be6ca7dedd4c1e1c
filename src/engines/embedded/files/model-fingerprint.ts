/** Which weights a folder holds, as a short text: of its configuration and of each weight file's size, head and tail. */
import { createHash } from "node:crypto";
import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

const sampledBytes = 1 << 20;

/** Equal for folders with the same configuration and weights. Large files are sampled, so a new model costs no full read. */
export async function modelFingerprint(folder: string): Promise<string> {
  const hash = createHash("sha256").update(await readFile(join(folder, "config.json")));
  const weights = (await readdir(folder)).filter((name) => /\.(safetensors|gguf|bin)$/.test(name)).sort();
  for (const name of weights) {
    const file = await open(join(folder, name));
    try {
      const { size } = await file.stat();
      hash.update(`${name} ${size}`);
      const buffer = Buffer.alloc(Math.min(sampledBytes, size));
      for (const position of new Set([
        0,
        Math.max(0, Math.floor(size / 2) - sampledBytes),
        Math.max(0, size - sampledBytes),
      ])) {
        const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
        hash.update(buffer.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  }
  return hash.digest("hex").slice(0, 16);
}
