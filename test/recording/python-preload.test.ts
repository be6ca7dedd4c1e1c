import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readCallLogs } from "../../src/record/call-log.ts";
import { readRecordings } from "../../src/record/recordings.ts";
import type { WireExchange } from "../../src/record/wire-exchange.ts";
import { coa } from "../fixtures/run-coa.ts";

const missing = spawnSync("python3", ["--version"]).status === 0 ? false : "no python3 on this machine";
const program = join(import.meta.dirname, "../fixtures/python-flow.py");
let folder: string;
let url: string;

/** Answers every chat request with its last message in capitals. */
const server = createServer(async (request, response) => {
  const chunks = await Array.fromAsync(request);
  const { messages } = JSON.parse(Buffer.concat(chunks as Buffer[]).toString()) as { messages: { content: string }[] };
  const message = { role: "assistant", content: messages.at(-1)!.content.toUpperCase() };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ id: "x", choices: [{ index: 0, message, finish_reason: "stop" }] }));
});

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-python-"));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env["TEST_SERVER"] = url;
});
after(async () => {
  server.close();
  await rm(folder, { recursive: true, force: true });
});

describe("coa record run -- python3", { skip: missing }, () => {
  it("records calls with their run, their agent and the replies they come after, through tasks and threads", async () => {
    const recordings = join(folder, "flow");
    const { code, stderr } = await coa(
      "record",
      "run",
      "--set",
      `record.folder=${recordings}`,
      "--",
      "python3",
      program,
    );
    assert.equal(code, 0, stderr);
    assert.match(stderr, /recorded 6 calls/);
    const calls = await Array.fromAsync(readCallLogs(recordings));
    const text = (call: WireExchange) => (call.request as { messages: { content: string }[] }).messages[0]!.content;
    const named = new Map(calls.map((call) => [text(call).split(/[ :]/)[0]!, call]));
    const [first, left, right, aside, both] = ["first", "left", "right", "aside", "both"].map((key) => named.get(key)!);
    assert.ok(calls.every(({ runId, recorder }) => runId === "given-id" && recorder === "preload"));
    assert.equal(first!.after, undefined);
    assert.deepEqual([left!.after, right!.after], [first!.id, first!.id]);
    assert.deepEqual([aside!.after, ...(aside!.joins ?? [])].sort(), [left!.id, right!.id].sort());
    assert.equal(both!.after, aside!.id);
    assert.equal(both!.agent?.name, "judge");
    // An agent that starts inside another one was called by it; nothing was handed over.
    const { name, parent, handoffFrom } = named.get("nested")!.agent!;
    assert.deepEqual(
      { name, parent, handoffFrom },
      { name: "helper", parent: { agentId: both!.agent!.id }, handoffFrom: undefined },
    );
  });

  it("takes runs, agents and what was given back from a framework, by the names of its own functions", async () => {
    const own = join(folder, "framework");
    await mkdir(join(own, "smolagents"), { recursive: true });
    await writeFile(join(own, "smolagents/__init__.py"), "");
    const framework = [
      "import json, os, urllib.request",
      "class MultiStepAgent:",
      "    name = 'counter'",
      "    def run(self, task):",
      "        body = json.dumps({'model': 'm', 'messages': [{'role': 'user', 'content': task}]}).encode()",
      "        url = os.environ['TEST_SERVER'] + '/v1/chat/completions'",
      "        request = urllib.request.Request(url, body, {'content-type': 'application/json'})",
      "        return len(urllib.request.urlopen(request).read()) * 0 + 42",
    ];
    await writeFile(join(own, "smolagents/agents.py"), framework.join("\n"));
    const app = join(own, "app.py");
    await writeFile(app, "from smolagents.agents import MultiStepAgent\nprint(MultiStepAgent().run('how many?'))\n");
    const recordings = join(folder, "given");
    const { code, stderr } = await coa("record", "run", "--set", `record.folder=${recordings}`, "--", "python3", app);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /recorded 1 calls in 1 runs \(known\)/);
    const [run] = await readRecordings(recordings);
    assert.deepEqual([run?.agents[0]?.name, run?.answer, run?.steps.length], ["counter", "42", 1]);
  });

  it("keeps secrets out of what is written", async () => {
    const files = await readdir(join(folder, "flow"));
    for (const file of files) assert.doesNotMatch(await readFile(join(folder, "flow", file), "utf8"), /sk-abcdef/);
  });

  it("lets a sitecustomize of the user's own run", async () => {
    const own = join(folder, "own");
    await mkdir(own);
    await writeFile(join(own, "sitecustomize.py"), "OWN = True\nprint('own sitecustomize')\n");
    const kept = process.env["PYTHONPATH"];
    process.env["PYTHONPATH"] = own;
    try {
      const recordings = `record.folder=${join(folder, "own-calls")}`;
      const script = `import sys; open(${JSON.stringify(join(folder, "ran"))}, "w").write(str(sys.modules["sitecustomize"].OWN))`;
      const { code, stderr } = await coa("record", "run", "--set", recordings, "--", "python3", "-c", script);
      assert.equal(await readFile(join(folder, "ran"), "utf8"), "True");
      assert.equal(code, 1);
      assert.match(stderr, /no model call was recorded: python3 made none/);
    } finally {
      if (kept === undefined) delete process.env["PYTHONPATH"];
      else process.env["PYTHONPATH"] = kept;
    }
  });

  it("points programs of other languages at the proxy by base-URL variables", async () => {
    const recordings = join(folder, "shell");
    process.env["OPENAI_BASE_URL"] = `${url}/v1`;
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "from a shell" }] });
    const script = `curl -s -H 'content-type: application/json' -d '${body}' "$OPENAI_BASE_URL/chat/completions" > ${join(folder, "reply.json")}`;
    try {
      const { code, stderr } = await coa(
        "record",
        "run",
        "--set",
        `record.folder=${recordings}`,
        "--",
        "sh",
        "-c",
        script,
      );
      assert.equal(code, 0, stderr);
    } finally {
      delete process.env["OPENAI_BASE_URL"];
    }
    assert.match(await readFile(join(folder, "reply.json"), "utf8"), /FROM A SHELL/);
    assert.equal((await Array.fromAsync(readCallLogs(recordings))).length, 1);
  });
});
