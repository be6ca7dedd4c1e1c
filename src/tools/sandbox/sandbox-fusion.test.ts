import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { after, before, describe, it } from "node:test";
import { sandboxFusion } from "./sandbox-fusion.ts";

describe("sandboxFusion", () => {
  let server: Server;
  let url = "";
  const seen: Record<string, unknown>[] = [];
  let replies: [status: number, body: unknown][] = [];
  before(async () => {
    server = createServer(async (request, response) => {
      let body = "";
      for await (const chunk of request) body += chunk;
      seen.push({ path: request.url, token: request.headers["x-token"], ...JSON.parse(body) });
      const [status, reply] = replies.shift() ?? [500, "nothing left"];
      response.writeHead(status).end(typeof reply === "string" ? reply : JSON.stringify(reply));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`;
  });
  after(() => server.close());
  const finished = (result: object) => ({
    status: "Success",
    run_result: { status: "Finished", return_code: 0, ...result },
  });

  it("sends the program with its limits and reads the result", async () => {
    replies = [[200, finished({ stdout: "7\n", stderr: "" })]];
    const sandbox = sandboxFusion({ url, headers: { "x-token": "t" } });
    const result = await sandbox.run({
      language: "javascript",
      code: "console.log(7)",
      stdin: "in",
      limits: { wallMs: 2500 },
    });
    assert.deepEqual([result.verdict, result.exitCode, result.stdout], ["ok", 0, "7\n"]);
    assert.deepEqual(seen.at(-1), {
      path: "/run_code",
      token: "t",
      code: "console.log(7)",
      stdin: "in",
      language: "nodejs",
      run_timeout: 2.5,
      compile_timeout: 2.5,
      memory_limit_MB: 512,
    });
  });

  it("tells failures, time limits, memory and a broken server apart", async () => {
    const sandbox = sandboxFusion({ url, retries: 1, backOffMs: 1 });
    const run = () => sandbox.run({ language: "python", code: "x", limits: { outputCharacters: 20 } });
    replies = [[200, { status: "Failed", run_result: { status: "Finished", return_code: 1, stderr: "bad" } }]];
    assert.deepEqual([(await run()).verdict], ["failed"]);
    replies = [[200, { status: "Failed", run_result: { status: "TimeLimitExceeded", stdout: "x".repeat(100) } }]];
    const late = await run();
    assert.equal(late.verdict, "timeout");
    assert.match(late.stdout, /^x{10}\n\.\.\. \[80 characters cut\]/);
    replies = [[200, finished({ return_code: 1, stderr: "MemoryError\n" })]];
    assert.equal((await run()).verdict, "memory");
    replies = [[200, { status: "SandboxError", message: "no worker" }]];
    assert.deepEqual([(await run()).verdict, (await run().catch((e) => e)).retryable], ["crashed", true]);
  });

  it("tries again after a 503 and says what went wrong after a 400", async () => {
    const sandbox = sandboxFusion({ url, backOffMs: 1 });
    replies = [
      [503, "busy"],
      [200, finished({ stdout: "ok" })],
    ];
    assert.equal((await sandbox.run({ language: "python", code: "x" })).stdout, "ok");
    replies = [[400, "no such language"]];
    await assert.rejects(sandbox.run({ language: "python", code: "x" }), /run_code: HTTP 400: no such language/);
    replies = [[200, { unexpected: true }]];
    await assert.rejects(sandbox.run({ language: "python", code: "x" }), /unknown form/);
  });
});
