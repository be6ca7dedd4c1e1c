/** The clients of OpenAI and Anthropic for Python against a real server of ours, where a Python that has them is named. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { withServer } from "../fixtures/serve-server.ts";

const python = process.env["COA_TEST_CLIENTS_PYTHON"];
const skip = python ? false : "set COA_TEST_CLIENTS_PYTHON=<python with openai and anthropic>";
const key = "sk-test-key";
const common = { chat: "Lyon", stream: "Lyon", events: true, refused: true };
const expected = {
  openai: { ...common, response: "Lyon", continued: "Lyon", background: "Lyon", model: "scripted" },
  anthropic: { ...common, counted: true },
};

describe("Python clients", { skip }, () => {
  for (const [name, seen] of Object.entries(expected)) {
    it(`${name} for Python reads whole answers, streams and refusals`, async () => {
      await withServer({ keys: [{ key }] }, async (_ask, origin) => {
        const script = join(import.meta.dirname, "python-clients.py");
        const { stdout } = await promisify(execFile)(python!, [script, name, origin, key]);
        assert.deepEqual(JSON.parse(stdout.trim().split("\n").at(-1)!), seen);
      });
    });
  }
});
