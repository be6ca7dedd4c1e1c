/** Files that were damaged or made to harm: what we read of others' folders is read or refused with an error of ours. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { readJsonl } from "../../src/base/files/read-jsonl.ts";
import { readTar, writeTar } from "../../src/base/files/tar.ts";
import { currentFolder } from "../../src/base/files/write-folder.ts";
import type { SeededRandom } from "../../src/base/work/random.ts";
import { readGguf, writeGguf } from "../../src/engines/embedded/files/gguf-format.ts";
import { readSafetensors, writeSafetensors } from "../../src/engines/embedded/files/safetensors.ts";
import { loadTokenizer } from "../../src/tokenizers/load-tokenizer.ts";
import { indexWriter, loadIndex } from "../../src/tools/local-index/index-file.ts";
import { damaged, fuzz, mutated } from "./fuzz.ts";

const tokenizerJson = {
  added_tokens: [{ id: 3, content: "<|end|>" }],
  normalizer: { type: "NFC" },
  pre_tokenizer: {
    type: "Sequence",
    pretokenizers: [
      { type: "Split", pattern: { Regex: "\\p{L}+|\\s" }, behavior: "Isolated", invert: false },
      { type: "ByteLevel", add_prefix_space: false, use_regex: false },
    ],
  },
  post_processor: null,
  decoder: { type: "ByteLevel" },
  model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: [["a", "b"]] },
};

/** Files of each kind in a folder, and what reads them. */
async function lane(folder: string) {
  const file = join(folder, "file");
  const tensor = { shape: [4, 8], data: new Float32Array(32).fill(0.5) };
  await writeSafetensors(join(folder, "s"), new Map([["a.weight", tensor]]) as never);
  await writeGguf(
    join(folder, "g"),
    new Map([["general.name", { type: "string", value: "m" }]]) as never,
    new Map([["a", { ...tensor, type: "f32" }]]) as never,
  );
  const writer = await indexWriter(join(folder, "index"));
  for (let at = 0; at < 20; at++)
    writer.add({ id: `d${at}`, title: `t${at}`, text: "ada lives in lyon", url: "https://x.example" });
  await writer.finish();
  const index = await currentFolder(join(folder, "index"));
  const read = async (name: string) => readFile(join(folder, name));
  const stored = async (bytes: Buffer) => {
    await writeFile(file, bytes);
    return file;
  };
  const tokenizer = async (text: string | Buffer) => {
    await writeFile(join(folder, "tokenizer.json"), text);
    return loadTokenizer(folder);
  };
  const lines = Buffer.from('{"version":1,"id":"a","text":"x"}\n{"version":1,"id":"b","list":[1,2,{"c":null}]}\n');
  const tar = writeTar({ "adapter_config.json": Buffer.from("{}"), b: Buffer.alloc(700, 3) });
  const seeds: [Uint8Array, (bytes: Buffer) => unknown][] = [
    [await read("s"), (bytes) => stored(bytes).then(readSafetensors)],
    [await read("g"), (bytes) => stored(bytes).then(readGguf)],
    [tar, (bytes) => readTar(bytes)],
    [lines, async (bytes) => Array.fromAsync(readJsonl(await stored(bytes), undefined, { onBad: () => {} }))],
    [Buffer.from(JSON.stringify(tokenizerJson)), async (bytes) => (await tokenizer(bytes)).encode("ab ba")],
  ];
  for (const name of ["index.json", "index.bin", "documents.jsonl"]) {
    const whole = await readFile(join(index, name));
    seeds.push([
      whole,
      async (bytes) => {
        await writeFile(join(index, name), bytes);
        try {
          const loaded = await loadIndex(join(folder, "index"));
          try {
            return loaded.search("ada");
          } finally {
            loaded.close();
          }
        } finally {
          await writeFile(join(index, name), whole);
        }
      },
    ]);
  }
  return { seeds, tokenizer };
}

const lanes = 16;

it("fuzzed stored files are read or refused with an error of ours", async (t) => {
  const folders = await Promise.all(Array.from({ length: lanes }, () => mkdtemp(join(tmpdir(), "coa-fuzz-"))));
  try {
    const all = await Promise.all(folders.map(lane));
    const one = async (random: SeededRandom, _number: number, at: number) => {
      const { seeds, tokenizer } = all[at]!;
      if (random.below(4) === 0) {
        const made = await tokenizer(JSON.stringify(mutated(tokenizerJson, random, 0.05)));
        return made.decode(made.encode("ab ba \u0000 <|end|>"));
      }
      const [bytes, use] = random.pick(seeds);
      return use(damaged(bytes, random));
    };
    t.diagnostic(JSON.stringify(await fuzz("files", one, undefined, { lanes })));
  } finally {
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  }
});
