import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { byteTokenizer } from "../../test/fixtures/conformance/byte-tokenizer.ts";
import { openPolicyClients, ownKeyFor } from "./policy-clients.ts";

describe("the key of this machine", () => {
  it("is for the server that its owner named, not for one that a coordinator names", () => {
    const env = { OPENAI_API_KEY: "own-key", OPENAI_BASE_URL: "https://models.example:8443/v1" };
    assert.equal(ownKeyFor("https://models.example:8443/other", env), "own-key");
    const others = ["https://evil.example/v1", "http://models.example:8443/v1", "https://models.example/v1", "https://models.example:8443@evil.example/v1", "nonsense"]; // biome-ignore format: a list
    const notes: string[] = [];
    for (const other of others)
      assert.equal(
        ownKeyFor(other, env, (note) => notes.push(note)),
        undefined,
        other,
      );
    assert.equal(notes.length, others.length, "a key that is withheld is told of");
    assert.match(notes[0]!, /OPENAI_API_KEY is not sent to https:\/\/evil\.example, .*set OPENAI_BASE_URL/);
    assert.equal(
      ownKeyFor("https://evil.example/v1", {}, (note) => notes.push(note)),
      undefined,
    );
    assert.equal(notes.length, others.length, "without a key there is nothing to tell");
    const plain = { OPENAI_API_KEY: "own-key" };
    assert.equal(ownKeyFor("https://api.openai.com/v1", plain), "own-key");
    assert.equal(ownKeyFor("https://api.openai.com.evil.example/v1", plain), undefined);
    assert.equal(ownKeyFor("http://127.0.0.1:9/v1", { ...plain, OPENAI_BASE_URL: "nonsense" }), undefined);
  });

  it("does not reach a server elsewhere by the environment either", async () => {
    const seen: (string | undefined)[] = [];
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.writeHead(400, { "content-type": "application/json" }).end('{"error":{"message":"no"}}');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const before = process.env["OPENAI_API_KEY"];
    process.env["OPENAI_API_KEY"] = "own-key";
    const clients = openPolicyClients(byteTokenizer(), { retries: 0, ask: true });
    try {
      const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
      const model = clients.at({ baseURL, apiKey: ownKeyFor(baseURL) });
      await model.prepare!().catch(() => {}); // it asks the server what it is
      assert.ok(seen.length > 0 && !seen.some((header) => header?.includes("own-key")), String(seen));
    } finally {
      if (before === undefined) delete process.env["OPENAI_API_KEY"];
      else process.env["OPENAI_API_KEY"] = before;
      await clients.close();
      server.close();
    }
  });
});
