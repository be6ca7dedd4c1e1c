import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../base/work/random.ts";
import { buildIndex, type IndexDocument } from "./build-index.ts";
import type { IndexOptions } from "./postings-builder.ts";
import { englishStopWords, tokenize } from "./tokenize.ts";

/** BM25 written out naively: every document scored from its own terms. */
function naiveSearch(documents: IndexDocument[], query: string, k: number, options: IndexOptions = {}) {
  const { k1 = 1.2, b = 0.75, titleBoost = 1 } = options;
  const bags = documents.map((document) => {
    const title = tokenize(document.title ?? "");
    return [...Array.from({ length: titleBoost }, () => title).flat(), ...tokenize(document.text)];
  });
  const average = bags.reduce((sum, bag) => sum + bag.length, 0) / bags.length;
  const words = query
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  const wanted = words.filter((word) => !englishStopWords.has(word));
  const terms = wanted.length > 0 ? wanted : words;
  const scored = bags.map((bag, index) => {
    let score = 0;
    for (const term of terms) {
      const df = bags.filter((other) => other.includes(term)).length;
      const tf = bag.filter((other) => other === term).length;
      const idf = Math.log(1 + (bags.length - df + 0.5) / (df + 0.5));
      score += (idf * tf) / (tf + k1 * (1 - b + (b * bag.length) / average));
    }
    return { id: documents[index]!.id, score, index };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((x, y) => y.score - x.score || x.index - y.index)
    .slice(0, k);
}

function randomCorpus(
  seed: number,
  size: number,
  vocabulary: number,
): { documents: IndexDocument[]; next: () => number } {
  const next = seededRandom(seed).next;
  // Zipf-like: low numbers are common words.
  const pick = () => `w${Math.floor(vocabulary ** next()) - 1}`;
  const words = (count: number) => Array.from({ length: count }, pick).join(" ");
  const documents = Array.from({ length: size }, (_, id) => ({
    id: String(id),
    title: words(1 + Math.floor(next() * 3)),
    text: words(Math.floor(next() * 60)),
    url: `https://example.org/${id}`,
  }));
  return { documents, next };
}

describe("buildIndex", () => {
  it("gives exactly the documents and scores of a naive BM25, for any options", () => {
    for (const [seed, options] of [
      [1, {}],
      [2, { titleBoost: 4 }],
      [3, { titleBoost: 0, k1: 0.9, b: 0.4 }],
      [4, { titleBoost: 2, b: 0.4 }],
      [5, { b: 0 }],
      [6, { b: 1, k1: 2 }],
    ] as [number, IndexOptions][]) {
      const { documents, next } = randomCorpus(seed, 120, 60);
      const index = buildIndex(documents, options);
      for (let round = 0; round < 15; round++) {
        const query = Array.from({ length: 1 + Math.floor(next() * 5) }, () => `w${Math.floor(60 ** next()) - 1}`).join(
          " ",
        );
        const k = 1 + Math.floor(next() * 15);
        const expected = naiveSearch(documents, query, k, options);
        const found = index.search(query, k);
        assert.deepEqual(
          found.map((hit) => hit.score.toFixed(9)),
          expected.map((hit) => hit.score.toFixed(9)),
          `seed ${seed} query ${query}`,
        );
        for (const hit of found) {
          const same = expected.filter((other) => Math.abs(other.score - hit.score) < 1e-9);
          const tiedAtEnd = Math.abs(expected.at(-1)!.score - hit.score) < 1e-9;
          assert.ok(tiedAtEnd || same.some((other) => other.id === hit.document.id), `seed ${seed} query ${query}`);
        }
      }
    }
  });

  it("gives the same when lists are long enough for terms to be skipped", () => {
    const { documents, next } = randomCorpus(11, 4000, 400);
    const index = buildIndex(documents);
    const all = buildIndex(documents);
    for (let round = 0; round < 60; round++) {
      const query = Array.from({ length: 2 + Math.floor(next() * 6) }, () => `w${Math.floor(400 ** next()) - 1}`).join(
        " ",
      );
      // k = every document: nothing can be skipped.
      const k = 1 + Math.floor(next() * 20);
      const expected = all.search(query, documents.length).slice(0, k);
      const found = index.search(query, k);
      assert.deepEqual(
        found.map((hit) => [hit.document.id, hit.score.toFixed(9)]),
        expected.map((hit) => [hit.document.id, hit.score.toFixed(9)]),
      );
    }
  });

  it("drops stop words from a query unless there is nothing else", () => {
    const index = buildIndex([
      { id: "a", text: "the who released an album" },
      { id: "b", text: "the album of the year" },
      { id: "c", text: "a river" },
    ]);
    assert.deepEqual(
      index.search("the river").map((hit) => hit.document.id),
      ["c"],
    );
    assert.equal(index.search("the who")[0]!.document.id, "a");
  });

  it("finds nothing in an empty index, for an empty query, or for unknown words", () => {
    assert.deepEqual(buildIndex([]).search("x"), []);
    const index = buildIndex([{ id: "a", text: "hello" }]);
    assert.deepEqual(index.search(""), []);
    assert.deepEqual(index.search("unknown"), []);
    assert.deepEqual(index.search("hello", 0), []);
  });
});

describe("tokenize", () => {
  it("splits words of any script and folds accents, case and compatibility forms", () => {
    assert.deepEqual(tokenize("Hello, World-2!"), ["hello", "world", "2"]);
    assert.deepEqual(tokenize("Crème BRÛLÉE ﬁne"), ["creme", "brulee", "fine"]);
    assert.deepEqual(tokenize("Straße Ärger"), ["straße", "arger"]);
    assert.deepEqual(tokenize("東京都 in Japan"), ["東京", "京都", "in", "japan"]);
    assert.deepEqual(tokenize("한국어 हिन्दी"), ["한국어", "हिन्दी"]);
    assert.deepEqual(tokenize("Москва́"), ["москва"]);
    assert.deepEqual(tokenize("x½y"), ["x1", "2y"]);
  });

  it("gives the same terms on the fast path as on the Unicode path", () => {
    const next = seededRandom(3).next;
    for (let round = 0; round < 500; round++) {
      const text = Array.from({ length: 30 }, () => String.fromCharCode(32 + Math.floor(next() * 95))).join("");
      // A non-ASCII word in front sends all that follows down the other path.
      assert.deepEqual(tokenize(`é ${text}`).slice(1), tokenize(text));
    }
  });
});
