/**
 * The public compliance suite of Open Responses against a server of ours, where a copy of it is named. What the suite and its
 * schemas demand is held by tests of our own as well: the fuzz of the projections and the tests of responses.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { scriptedModel } from "../../src/testing/index.ts";
import { withServer } from "../fixtures/serve-server.ts";

const suite = process.env["COA_TEST_OPEN_RESPONSES"];
const skip = suite ? false : "set COA_TEST_OPEN_RESPONSES to the suite's bin/compliance-test.ts, bundled for Node";

describe("the compliance suite of Open Responses", { skip }, () => {
  it("passes over HTTP; its image is left out, because no image is understood here", async () => {
    const model = scriptedModel(({ prompt }) =>
      prompt[0]!.content.includes("get_weather")
        ? '<think>ask</think><get_weather>{"location":"San Francisco"}</get_weather>'
        : "<think>known</think><answer>hello there friend</answer>",
    );
    await withServer({ model, media: "ignore", keys: [{ key: "sk-suite-key" }] }, async (_ask, origin) => {
      const asked = ["-u", `${origin}/v1`, "-k", "sk-suite-key", "-m", "scripted", "--json"];
      // The suite ends with 1 where anything failed; what is served by HTTP alone fails its tests of sockets and of compaction.
      const run = promisify(execFile)(process.execPath, [suite!, ...asked], { maxBuffer: 1e8 });
      const { stdout } = await run.catch((failed: { stdout: string }) => failed);
      const { results } = JSON.parse(stdout) as { results: { id: string; name: string; status: string }[] };
      const served = results.filter(({ id, name }) => !/websocket|compact/i.test(`${id} ${name}`));
      assert.deepEqual(
        served.filter(({ status }) => status !== "passed").map(({ id }) => id),
        [],
        stdout.slice(0, 5000),
      );
      assert.ok(served.length >= 8);
    });
  });
});
