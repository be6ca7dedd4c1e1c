/** SECURITY.md states the limits that the code has, and every test file that it names is there. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { budgets, most } from "../src/core/budget.ts";

const root = join(import.meta.dirname, "..");
const page = readFileSync(join(root, "SECURITY.md"), "utf8");

describe("SECURITY.md", () => {
  it("states the budgets as they are", () => {
    const mb = (bytes: number) => `${bytes / 2 ** 20} MB`;
    const count = (items: number) => `${items.toLocaleString("en-US")} lists and objects`;
    const { request, reply, event, line, tokens } = budgets;
    const stated = [
      ["body of a request, unpacked", mb(request.bytes), count(request.items), `${request.depth} levels`, `${request.ms / 60_000} minutes`],
      ["bodies that a server holds at a time", `${most.heldBytes / 2 ** 30} GB`],
      ["answer of another server", mb(reply.bytes), count(reply.items), `${reply.depth} levels`, `${reply.ms / 60_000} minutes`],
      ["one event of a stream", mb(event.bytes), count(event.items)],
      ["one line of a file", mb(line.bytes)],
      ["one text in a tokenizer from elsewhere", `${tokens.ms / 1000} s`],
      ["function tools of a request, and tools that its conversation calls", String(most.tools)],
      ["messages of an MCP batch", String(most.batch)],
      ["passages of one request to `/retrieve`, over all its queries", most.passages.toLocaleString("en-US")],
      ["samples of one request to `serve trainer`, and strings that stop it", most.samples.toLocaleString("en-US")],
    ]; // biome-ignore format: one line a limit
    for (const [name, ...numbers] of stated) {
      const row = page.split("\n").find((one) => one.startsWith(`| ${name} |`));
      assert.ok(row !== undefined, `there is no row "${name}"`);
      for (const number of numbers) assert.ok(row.includes(number), `${row} does not say ${number}`);
    }
  });

  it("names a test file for every promise", () => {
    const section = page.slice(page.indexOf("## What must hold"), page.indexOf("## Who attacks"));
    const promises = section.split(/^(?=\d+\. \*\*)/m).slice(1);
    assert.ok(promises.length >= 12);
    for (const promise of promises) assert.match(promise, /`(?:src|test)\/[\w./-]+\.test\.ts`/, promise.slice(0, 80));
  });

  it("names test files that exist", () => {
    const files = [...page.matchAll(/`((?:src|test)\/[\w./-]+\.ts)`/g)].map(([, file]) => file!);
    assert.ok(files.length > 12);
    assert.deepEqual(
      files.filter((file) => !existsSync(join(root, file))),
      [],
    );
  });
});
