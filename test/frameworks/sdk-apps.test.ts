import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { liveApps } from "./sdk-apps.ts";
import { testLiveApps } from "./test-live-apps.ts";

const few = ["Anthropic SDK", "Google genai SDK", "Ollama client"];

describe("live apps of three SDKs, unchanged", { concurrency: 1 }, () =>
  testLiveApps(liveApps.filter(({ name }) => few.includes(name))),
);

it("the guide's table of frameworks is what the tests say", async () => {
  const guide = await readFile(join(import.meta.dirname, "../../docs/guide/record.md"), "utf8");
  for (const { name, api, preload } of liveApps) {
    const row = guide.split("\n").find((line) => line.startsWith(`| ${name} `));
    const cells = row?.split("|").map((cell) => cell.trim());
    const four = preload === "known" ? "exact, known" : "inferred, or refused";
    assert.deepEqual(cells?.slice(1, 6), [name, api, "exact", "exact", four]);
  }
});
