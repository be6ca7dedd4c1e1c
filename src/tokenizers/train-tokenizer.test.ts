import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Tokenizer as Library } from "@huggingface/tokenizers";
import { seededRandom } from "../base/work/random.ts";
import { tagTokens } from "../language/profile.ts";
import { webProfile } from "../language/profiles.ts";
import { loadTokenizer } from "./load-tokenizer.ts";
import { trainTokenizer } from "./train-tokenizer.ts";

const syllables = ["sta", "zor", "tre", "men", "ku", "lo", "vin", "dar", "pel", "mi"];

function sentences(count: number, seed = 1): string[] {
  const random = seededRandom(seed).next;
  const name = () => {
    const word = Array.from({ length: 3 }, () => syllables[Math.floor(random() * syllables.length)]).join("");
    return word[0]!.toUpperCase() + word.slice(1);
  };
  return Array.from(
    { length: count },
    () => `The river ${name()} flows through ${name()} since ${Math.floor(random() * 2000)}.`,
  );
}

const specials = tagTokens([webProfile]);

/** The textbook way: recount every pair after every merge. */
function slowMerges(texts: string[], most: number): string[] {
  const words = texts.flatMap((text) => text.match(/\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu) ?? []);
  let split = words.map((word) => [...word.replaceAll(" ", "Ġ")]);
  const ids = new Map<string, number>();
  const idOf = (symbol: string) =>
    ids.get(symbol) ?? (symbol === "Ġ" ? 32 : symbol.length === 1 ? symbol.charCodeAt(0) : Number.NaN);
  const merges: string[] = [];
  while (merges.length < most) {
    const counts = new Map<string, number>();
    for (const word of split) {
      for (let i = 0; i + 1 < word.length; i++) {
        const pair = `${word[i]} ${word[i + 1]}`;
        counts.set(pair, (counts.get(pair) ?? 0) + 1);
      }
    }
    const order = ([a, b]: string[]) => [idOf(a!), idOf(b!)] as const;
    const best = [...counts]
      .filter(([, count]) => count > 1)
      .sort(([p, x], [q, y]) => {
        const [a, b] = order(p.split(" "));
        const [c, d] = order(q.split(" "));
        return y - x || a - c || b - d;
      })[0]?.[0];
    if (!best) break;
    merges.push(best);
    const [left, right] = best.split(" ");
    ids.set(left! + right!, 255 + merges.length);
    split = split.map((word) => {
      const merged: string[] = [];
      for (let i = 0; i < word.length; i++) {
        if (word[i] === left && word[i + 1] === right) merged.push(left! + word[++i]!);
        else merged.push(word[i]!);
      }
      return merged;
    });
  }
  return merges;
}

describe("trainTokenizer", () => {
  it("learns the merges that counting everything anew each time gives", async () => {
    const texts = [...sentences(60), "aaaa aaa aaaaaa banana bananas"];
    const tokenizer = trainTokenizer(texts, { vocabularySize: 256 + 5 + 80 });
    const folder = await mkdtemp(join(tmpdir(), "coa-tokenizer-"));
    after(() => rm(folder, { recursive: true }));
    await tokenizer.save(folder);
    const json = JSON.parse(await readFile(join(folder, "tokenizer.json"), "utf8"));
    assert.deepEqual(
      json.model.merges.map((pair: string[]) => pair.join(" ")),
      slowMerges(texts, 80),
    );
  });

  it("writes files from which the Hugging Face library makes the same ids", async () => {
    const tokenizer = trainTokenizer(sentences(300), { vocabularySize: 512, specialTokens: specials });
    const folder = await mkdtemp(join(tmpdir(), "coa-tokenizer-"));
    after(() => rm(folder, { recursive: true }));
    await tokenizer.save(folder);
    const read = async (name: string) => JSON.parse(await readFile(join(folder, name), "utf8"));
    const library = new Library(await read("tokenizer.json"), await read("tokenizer_config.json"));
    const again = await loadTokenizer(folder);
    assert.equal(again.vocabularySize, 512);
    for (const text of [...sentences(50, 2), "ünïcödé 🙂", "a<b\n\n  c"]) {
      const ids = tokenizer.encode(text);
      assert.deepEqual(library.encode(text).ids, ids);
      assert.deepEqual(again.encode(text), ids);
      assert.equal(tokenizer.decode(ids), text);
    }
    const chain = "<think> go on</think><web_search> Stazor</web_search>";
    assert.deepEqual(library.encode(chain).ids, tokenizer.encodeWithSpecials(chain));
    assert.equal(tokenizer.decode(tokenizer.encodeWithSpecials(chain)), chain);
  });

  it("makes every digit and every tag one token", () => {
    const tokenizer = trainTokenizer(sentences(300), { vocabularySize: 512, specialTokens: specials });
    assert.equal(tokenizer.encode("1823").length, 4);
    assert.equal(tokenizer.encode(" 1823").length, 5);
    for (const tag of specials) assert.deepEqual(tokenizer.encodeWithSpecials(tag), [tokenizer.specialToken(tag)]);
  });

  it("tokenises a name alike after an opening tag and inside a sentence, when a space stands before it", () => {
    const tokenizer = trainTokenizer(sentences(300), { vocabularySize: 512, specialTokens: specials });
    const name = tokenizer.encode(" Stazortre");
    const inTag = tokenizer.encodeWithSpecials("<web_search> Stazortre</web_search>").slice(1, -1);
    const inSentence = tokenizer.encode("The river Stazortre flows");
    assert.deepEqual(inTag, name);
    assert.ok(inSentence.join(" ").includes(name.join(" ")));
  });

  it("does not depend on the order of the texts", () => {
    const texts = sentences(100);
    const one = trainTokenizer(texts, { vocabularySize: 400 });
    const other = trainTokenizer(texts.toReversed(), { vocabularySize: 400 });
    assert.deepEqual(one.encode(texts.join("\n")), other.encode(texts.join("\n")));
  });

  it("shows the bare question to the model, and the system message only when asked to", () => {
    const messages = [
      { role: "system" as const, content: "Rules." },
      { role: "user" as const, content: "Who <|end|>?" },
    ];
    const bare = trainTokenizer(sentences(50), { vocabularySize: 300 });
    const ids = bare.encodePrompt(messages);
    assert.equal(bare.decode(ids), "<|user|> Who <|end|>?<|assistant|>");
    assert.equal(ids.filter((id) => id === bare.specialToken("<|end|>")).length, 0);
    const chat = trainTokenizer(sentences(50), { vocabularySize: 300, prompt: "chat" });
    assert.equal(chat.decode(chat.encodePrompt(messages)), "<|system|> Rules.<|user|> Who <|end|>?<|assistant|>");
  });

  it("refuses a vocabulary that can't hold the bytes and the special tokens", () => {
    assert.throws(() => trainTokenizer([], { vocabularySize: 256 }), /too small/);
  });
});
