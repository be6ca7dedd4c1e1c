import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { guideWithTable } from "./results.ts";
import { liveApps } from "./sdk-apps.ts";
import { testLiveApps } from "./test-live-apps.ts";

const few = ["Anthropic SDK", "Google genai SDK", "Ollama client"];

describe("live apps of three SDKs, unchanged", { concurrency: 1 }, () =>
  testLiveApps(
    liveApps.filter(({ name }) => few.includes(name)),
    { short: true },
  ),
);

it("the guide's table of frameworks is what the tests measured", async () => {
  const guide = await readFile(join(import.meta.dirname, "../../docs/guide/record.md"), "utf8");
  assert.equal(guide, guideWithTable(guide));
});
