import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import type { AnsweringCalls } from "../../../test/fixtures/answering-thread.ts";
import { CoaError } from "../../core/errors.ts";
import { startThread, type ThreadOptions } from "./thread.ts";

const file = new URL("../../../test/fixtures/answering-thread.ts", import.meta.url);

function open(options: Partial<ThreadOptions> = {}) {
  return startThread<AnsweringCalls>(file, { name: "the index", boundary: "storage", ...options });
}

describe("startThread", () => {
  it("answers calls, each with its own result", async () => {
    const thread = open();
    assert.deepEqual(await Promise.all([1, 2, 3].map((value) => thread.call("double", value))), [2, 4, 6]);
    await thread.close();
  });

  it("gives an error back with its boundary, code and hint, and labels the others", async () => {
    const thread = open();
    const refused = { boundary: "usage", code: "bad-line", problem: "line 3 is not JSON", hint: { option: "skipBad" } };
    await assert.rejects(thread.call("refuse"), (error: CoaError) => {
      assert.deepEqual({ ...refused, ...error }, { ...error });
      return error instanceof CoaError;
    });
    await assert.rejects(thread.call("fail"), { boundary: "storage", code: "storage", message: "out of range" });
    assert.equal(await thread.call("double", 4), 8);
    await thread.close();
  });

  it("fails every call under way when the thread dies, and all later ones", async () => {
    let ended: unknown;
    const thread = open({ onEnd: (error) => (ended = error) });
    const hanging = assert.rejects(thread.call("hang"), /^CoaError: the index stopped: exit code 3$/);
    await assert.rejects(thread.call("die"), { boundary: "storage", retryable: false });
    await hanging;
    await assert.rejects(thread.call("double", 1), /the index stopped/);
    assert.equal(thread.ended, ended);
  });

  it("starts again after it died, where it may", async () => {
    const thread = open({ restarts: true });
    await assert.rejects(thread.call("die"), { retryable: true });
    assert.equal(await thread.call("double", 5), 10);
    const hanging = assert.rejects(thread.call("hang"), /^CoaError: the index took too long$/);
    await thread.close("took too long");
    await hanging;
    assert.equal(await thread.call("double", 6), 12);
    await thread.close();
  });

  it("fails every call with the reason where the thread could not be made ready", async () => {
    const thread = open({ data: "unmade" });
    for (let i = 0; i < 2; i++)
      await assert.rejects(thread.call("double", 1), { boundary: "usage", message: "nothing to open" });
    await thread.close();
  });

  it("passes messages that are not answers, both ways", async () => {
    const heard = Promise.withResolvers<unknown>();
    const thread = open({ onMessage: heard.resolve as () => void });
    thread.post("hello");
    const release = thread.hold();
    assert.deepEqual(await heard.promise, { type: "heard", message: "hello" });
    release();
    await thread.close();
  });

  it("answers one call after another where told to", async () => {
    for (const [data, order] of [
      ["in-order", [50, 1]],
      ["as they come", [1, 50]],
    ] as const) {
      const ended: number[] = [];
      const thread = open({ data, onMessage: ({ turns }: { turns: number }) => void ended.push(turns) });
      await Promise.all([thread.call("slowly", 50), thread.call("slowly", 1)]);
      assert.deepEqual(ended, order);
      await thread.close();
    }
  });

  it("keeps the process alive while a call is under way, and not while it waits", () => {
    const program = `
      import { startThread } from ${JSON.stringify(new URL("./thread.ts", import.meta.url).href)};
      const thread = startThread(new URL(${JSON.stringify(file.href)}), { name: "a thread", boundary: "engine" });
      console.log(await thread.call("double", 21));`;
    const args = ["--input-type=module", "--eval", program];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    assert.equal(stdout.trim(), "42", stderr);
    assert.equal(status, 0);
  });
});
