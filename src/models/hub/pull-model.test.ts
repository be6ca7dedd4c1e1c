import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { readManifest } from "../../base/files/manifest.ts";
import { pullModel } from "./pull-model.ts";

const commit = "0123456789abcdef0123456789abcdef01234567";
const weights = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 31) % 251));
const small: Record<string, string> = { "config.json": '{"model_type":"qwen2"}', "tokenizer.json": '{"model":{}}' };
const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** A hub and its store of large files, on two hosts, as Hugging Face has them. */
interface Hub {
  endpoint: string;
  /** What reached the store: its Authorization header and its range. */
  stored: { authorization?: string; range?: string }[];
  /** Bytes after which the store breaks the connection, one for each request. */
  cuts: number[];
  /** Other bytes than the hub has promised. */
  forged?: Buffer;
  token?: string;
  /** Called when the client has written something. */
  onArrived?: () => void;
  extra: object[];
}

let hub: Hub;
let folder = "";
const servers: Server[] = [];

async function listening(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(handler);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-hub-"));
});
after(() => rm(folder, { recursive: true, force: true }));
beforeEach(async () => {
  const store = await listening((request, response) => {
    const { authorization, range } = request.headers;
    hub.stored.push({ authorization, range });
    const bytes = hub.forged ?? weights;
    const from = Number(/^bytes=(\d+)-$/.exec(range ?? "")?.[1] ?? 0);
    const headers = {
      "content-length": bytes.length - from,
      ...(range && { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    };
    response.writeHead(range ? 206 : 200, headers);
    const cut = hub.cuts.shift();
    if (cut === undefined) return response.end(bytes.subarray(from));
    // Only once the client has kept some of it: what it has not read yet is lost with the connection.
    hub.onArrived = () => response.socket?.end();
    response.write(bytes.subarray(from, from + cut));
  });
  const endpoint = await listening((request, response) => {
    if (hub.token !== undefined && request.headers.authorization !== `Bearer ${hub.token}`)
      return response.writeHead(401).end();
    const path = request.url ?? "";
    if (path === "/api/models/owner/model/revision/main?blobs=true") {
      const siblings = [
        ...Object.entries(small).map(([rfilename, text]) => ({
          rfilename,
          size: text.length,
          blobId: createHash("sha1").update(`blob ${text.length}\0${text}`).digest("hex"),
        })),
        {
          rfilename: "model.safetensors",
          size: 130,
          lfs: { sha256: sha256(weights), size: weights.length, pointerSize: 130 },
        },
        { rfilename: "pytorch_model.bin", size: 10 },
        ...hub.extra,
      ];
      return response.end(JSON.stringify({ sha: commit, cardData: { license: "apache-2.0" }, siblings }));
    }
    const file = path.replace(`/owner/model/resolve/${commit}/`, "");
    if (file === "model.safetensors")
      return response.writeHead(302, { location: `${store}/blobs/x?signature=1` }).end();
    if (small[file] !== undefined) return response.end(small[file]);
    response.writeHead(404).end();
  });
  hub = { endpoint, stored: [], cuts: [], extra: [] };
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

let count = 0;
const target = () => join(folder, `model-${count++}`);
const pull = (to: string, options: object = {}) =>
  pullModel("owner/model", to, {
    endpoint: hub.endpoint,
    retryDelayMs: 0,
    onProgress: () => hub.onArrived?.(),
    ...options,
  });

describe("pullModel", () => {
  it("brings configuration, tokenizer and weights, with revision, licence and hashes in the manifest", async () => {
    const to = target();
    const pulled = await pull(to);
    assert.deepEqual([pulled.revision, pulled.license, pulled.present], [commit, "apache-2.0", false]);
    assert.deepEqual((await readdir(to)).sort(), [
      "config.json",
      "manifest.json",
      "model.safetensors",
      "tokenizer.json",
    ]);
    assert.deepEqual(await readFile(join(to, "model.safetensors")), weights);
    const { kind, configuration } = (await readManifest(to))!;
    assert.deepEqual([kind, configuration["revision"], configuration["license"]], ["model", commit, "apache-2.0"]);
    const files = configuration["files"] as { path: string; sha256: string }[];
    assert.equal(files.find(({ path }) => path === "model.safetensors")?.sha256, sha256(weights));
    assert.equal((await pull(to)).present, true, "asked for again, nothing is brought");
    assert.equal(hub.stored.length, 1);
    await assert.rejects(
      pullModel("owner/model", folder, { endpoint: hub.endpoint }),
      /is there already and holds something else/,
    );
  });

  it("never sends the token to another host", async () => {
    hub.token = "hf_secret";
    await assert.rejects(pull(target()), /refuses owner\/model \(HTTP 401\): accept its licence .* set HF_TOKEN/);
    await pull(target(), { token: "hf_secret" });
    assert.deepEqual(
      hub.stored.map(({ authorization }) => authorization),
      [undefined],
    );
  });

  it("continues where the connection broke, within a run and in the next one", async () => {
    const to = target();
    hub.cuts = [100_000, 50_000];
    await pull(to);
    const ranges = hub.stored.map(({ range }) => Number(/\d+/.exec(range ?? "0")?.[0]));
    assert.equal(ranges.length, 3);
    assert.ok(ranges[0] === 0 && ranges[1]! > 0 && ranges[2]! > ranges[1]!, String(ranges));
    const other = target();
    hub.cuts = [120_000];
    await assert.rejects(pull(other, { retries: 0 }), /broke off at \d+ of 300000 bytes/);
    assert.ok(!existsSync(other), "nothing appears before everything is checked");
    await pull(other);
    assert.match(hub.stored.at(-1)!.range ?? "", /^bytes=[1-9]\d*-$/);
    assert.deepEqual(await readFile(join(other, "model.safetensors")), weights);
  });

  it("refuses other bytes than the hub promised, more of them, and names that leave the folder", async () => {
    const to = target();
    hub.forged = Buffer.from(weights).fill(0, 7, 9);
    await assert.rejects(pull(to), /model\.safetensors is not what the hub says it is/);
    hub.forged = Buffer.concat([weights, weights]);
    await assert.rejects(pull(to), /longer than the 300000 bytes/);
    assert.ok(!existsSync(to));
    hub.forged = undefined;
    hub.extra = [
      { rfilename: "../evil.safetensors", size: 3 },
      { rfilename: "/etc/evil.safetensors", size: 3 },
      { rfilename: "code/run.py", size: 3 },
    ];
    await pull(to);
    assert.equal((await readdir(to)).length, 4);
    assert.ok(!existsSync(join(folder, "evil.safetensors")));
    small["config.json"] = '{"model_type":"llama"}';
    await pull(target());
  });

  it("says what is wrong with a name, a revision and a hub", async () => {
    await assert.rejects(pullModel("qwen", target(), { endpoint: hub.endpoint }), /named owner\/name/);
    await assert.rejects(pull(target(), { revision: "nowhere" }), /no model owner\/model at revision nowhere/);
    await assert.rejects(
      pullModel("owner/model", target(), { endpoint: "http://127.0.0.1:9" }),
      /can't be reached.*HF_ENDPOINT/,
    );
    const only = await pull(target(), { withoutWeights: true });
    assert.deepEqual(only.files.map(({ path }) => path).sort(), ["config.json", "tokenizer.json"]);
  });
});
