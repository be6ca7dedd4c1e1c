/** What only the user can fix stops a batch at the first run, is said with what to do, and is tried again by the next start. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { defineTask } from "../src/index.ts";
import { coa } from "./fixtures/run-coa.ts";

let folder = "";
let server: Server;
let url = "";
let requests = 0;
const savedHome = process.env["COA_HOME"];
const savedKey = process.env["OPENAI_API_KEY"];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-yours-"));
  process.env["COA_HOME"] = join(folder, ".coa");
  const tasks = Array.from({ length: 6 }, (_, n) =>
    defineTask({ id: `t${n}`, question: `${n} + 1?`, answers: [`${n + 1}`] }),
  );
  await writeFile(join(folder, "tasks.jsonl"), tasks.map((task) => `${JSON.stringify(task)}\n`).join(""));
  server = createServer((request, response) => {
    request.resume();
    if (request.url?.endsWith("/models")) {
      response.setHeader("content-type", "application/json");
      response.end('{"data":[{"id":"m"}]}');
      return;
    }
    requests++;
    const known = request.headers.authorization === "Bearer right";
    response.statusCode = known ? 200 : 401;
    response.setHeader("content-type", "application/json");
    const reply = {
      choices: [{ message: { role: "assistant", content: "5" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    };
    response.end(JSON.stringify(known ? reply : { error: { message: "Incorrect API key provided" } }));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
after(async () => {
  server.close();
  for (const [name, value] of [
    ["COA_HOME", savedHome],
    ["OPENAI_API_KEY", savedKey],
  ] as const) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  await rm(folder, { recursive: true, force: true });
});

const evaluation = () => [
  "eval",
  "run",
  join(folder, "tasks.jsonl"),
  "--system",
  "model",
  "--base-url",
  url,
  "--model",
  "m",
  "--name",
  "keys",
  "--concurrency",
  "1",
];

describe("a wrong key", () => {
  it("stops eval run at the first task, and the right key runs all of them", async () => {
    process.env["OPENAI_API_KEY"] = "wrong";
    requests = 0;
    await assert.rejects(
      coa(...evaluation()),
      /stopped at the first failure: .*401.*Incorrect API key.*Check the key/s,
    );
    assert.equal(requests, 1);
    process.env["OPENAI_API_KEY"] = "right";
    const { code, stdout } = await coa(...evaluation(), "--json");
    assert.equal(code, 0);
    const { crashed, successes } = JSON.parse(stdout) as { crashed: number; successes: number };
    assert.deepEqual({ crashed, successes }, { crashed: 0, successes: 1 });
  });

  it("stops team run at the first task", async () => {
    process.env["OPENAI_API_KEY"] = "wrong";
    requests = 0;
    const run = [
      "team",
      "run",
      join(folder, "tasks.jsonl"),
      "--base-url",
      url,
      "--model",
      "m",
      "--tools",
      "code",
      "--concurrency",
      "1",
      "--out",
      join(folder, "runs.jsonl"),
    ];
    await assert.rejects(coa(...run), /stopped at the first failure: .*401/s);
    assert.ok(requests <= 2, `${requests} requests`);
  });

  it("and a host that does not exist: the same", async () => {
    const away = [
      "eval",
      "run",
      join(folder, "tasks.jsonl"),
      "--system",
      "model",
      "--base-url",
      "http://no-such-host.invalid/v1",
      "--model",
      "m",
      "--name",
      "away",
    ];
    await assert.rejects(coa(...away), /no-such-host\.invalid.*(Is the server running|Check the address)/s);
  });

  it("stops where the server is not there and no model was named, and keeps nothing of it", async () => {
    process.env["OPENAI_API_KEY"] = "right";
    const begun = (address: string, ...more: string[]) =>
      coa(
        ...[
          "eval",
          "run",
          join(folder, "tasks.jsonl"),
          "--system",
          "model",
          "--base-url",
          address,
          "--name",
          "u",
          ...more,
        ],
      );
    await assert.rejects(begun("http://no-such-host.invalid/v1"), /stopped at the first failure: .*no-such-host/);
    assert.equal((await begun(url)).code, 0);
  });

  it("lets a wrong model's name be put right under the same evaluation", async () => {
    process.env["OPENAI_API_KEY"] = "wrong";
    const begun = (model: string) => coa(...evaluation().slice(0, 7), "--model", model, "--name", "typo");
    await assert.rejects(begun("n"), /401/);
    process.env["OPENAI_API_KEY"] = "right";
    assert.equal((await begun("m")).code, 0);
    await assert.rejects(begun("n"), /identity\.model\.name was "m", is "n".* another name such as typo-2/);
    // Without a name the server says which model it is.
    const { stdout } = await coa(...evaluation().slice(0, 7), "--name", "typo");
    assert.match(stdout, /model m at /);
  });
});
