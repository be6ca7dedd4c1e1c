import assert from "node:assert/strict";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { emptyUsage } from "../../core/usage.ts";
import type { LinesView } from "./item-readers.ts";
import type { FacetView, ItemPage } from "./query-items.ts";
import { type Studio, serveStudio } from "./serve-studio.ts";

function chain(id: string, text: string, more: object = {}): string {
  const segments = [{ tag: "answer", text, by: "model" }];
  const prompt = [{ role: "user", content: `question of ${id}` }];
  const fixed = {
    version: 1,
    profile: "lab",
    model: "m",
    answer: text,
    ending: { reason: "answered" },
    violations: [],
  };
  return `${JSON.stringify({ ...fixed, id, taskId: `task-${id}`, prompt, segments, usage: emptyUsage(), ...more })}\n`;
}

describe("the studio's server", () => {
  let folder: string;
  let file: string;
  let studio: Studio;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "coa-studio-"));
    file = join(folder, "chains.jsonl");
    await writeFile(file, chain("a", "Kamire lies on the river", { reward: 1 }) + chain("b", "nothing", { reward: 0 }));
    await writeFile(join(folder, "metrics.jsonl"), '{"step":1,"loss":2}\n{"step":2,"loss":1}\n{"step":3,');
    studio = await serveStudio({ paths: [folder], home: folder });
    await studio.context.catalog.ready();
  });
  after(async () => {
    await studio.close();
    await rm(folder, { recursive: true });
  });

  const ask = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${studio.origin}${path}`, { headers: { authorization: `Bearer ${studio.token}`, ...headers } });
  const read = async <T>(path: string) => (await (await ask(path)).json()) as T;
  /** With headers that fetch does not let a page set. */
  const rawStatus = (headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      const asked = request(`${studio.origin}/api/overview`, { headers }, (response) => {
        response.resume();
        resolve(response.statusCode!);
      });
      asked.on("error", reject).end();
    });

  it("answers only with this start's token, under this machine's names, to its own pages", async () => {
    assert.equal((await fetch(`${studio.origin}/api/overview`)).status, 401);
    const authorization = `Bearer ${studio.token}`;
    assert.equal(await rawStatus({ authorization }), 200);
    assert.equal(await rawStatus({ authorization: `${authorization}x` }), 401);
    assert.equal(await rawStatus({ authorization, host: "evil.example" }), 403);
    assert.equal(await rawStatus({ authorization, origin: "https://evil.example" }), 403);
  });

  it("keeps every one of the views that are saved at once", async () => {
    const headers = { authorization: `Bearer ${studio.token}`, "content-type": "application/json" };
    const save = async (_: unknown, at: number) => {
      const body = JSON.stringify({ name: `view ${at}`, address: "/chains" });
      return (await fetch(`${studio.origin}/api/views`, { method: "POST", headers, body })).status;
    };
    assert.deepEqual(new Set(await Promise.all(Array.from({ length: 40 }, save))), new Set([200]));
    assert.equal((await read<unknown[]>("/api/views")).length, 40);
  });

  it("serves the page under a policy that lets it load nothing from elsewhere", async () => {
    const page = await fetch(studio.origin);
    assert.match(page.headers.get("content-security-policy") ?? "", /default-src 'none'; script-src 'self'/);
    assert.doesNotMatch(page.headers.get("content-security-policy")!, /unsafe/);
    assert.match(await page.text(), /<script defer src="\.\/app\.js">/);
    assert.equal((await fetch(`${studio.origin}/../package.json`)).status, 404);
    assert.equal((await fetch(`${studio.origin}/%2e%2e/package.json`)).status, 404);
  });

  it("weighs at most 150 kB packed, with nothing to load later", async () => {
    const packed = await Promise.all(
      ["", "app.js", "app.css"].map(async (name) => {
        const response = await fetch(`${studio.origin}/${name}`);
        return gzipSync(Buffer.from(await response.arrayBuffer())).length;
      }),
    );
    assert.ok(packed.reduce((sum, size) => sum + size, 0) <= 150_000, String(packed));
  });

  it("lists, narrows and searches", async () => {
    assert.equal((await read<ItemPage>("/api/items?kind=chain")).total, 2);
    const found = await read<ItemPage>("/api/items?kind=chain&q=kamire+riv");
    assert.deepEqual(
      found.rows.map(({ key }) => key),
      ["a"],
    );
    assert.equal((await read<ItemPage>("/api/items?kind=chain&reward=0")).total, 1);
    assert.equal((await read<ItemPage>(`/api/items?kind=chain&q=${encodeURIComponent('"*) (-')}`)).total, 2);
    const facets = await read<FacetView[]>("/api/facets?kind=chain&reward=0");
    const reward = facets.find(({ name }) => name === "reward")!;
    assert.deepEqual(
      reward.values.map(({ value, count }) => [value, count]),
      [
        ["0", 1],
        ["1", 1],
      ],
    );
  });

  it("reads on from the old end when a file grows, and says so in an event", async () => {
    const grown = Promise.withResolvers<void>();
    const stop = studio.context.catalog.onEvent((event) => event.type === "idle" && grown.resolve());
    await appendFile(file, chain("c", "later"));
    await grown.promise;
    stop();
    assert.equal((await read<ItemPage>("/api/items?kind=chain&q=later")).total, 1);
    const events = await ask("/api/events");
    const { value } = await events.body!.getReader().read();
    assert.match(new TextDecoder().decode(value), /"type":"(?:file|idle)"/);
  });

  it("loses no event that comes while a page connects or is told of an earlier one", async () => {
    const told: string[] = [];
    const events = await ask("/api/events");
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
    const idle = Promise.withResolvers<void>();
    const stop = studio.context.catalog.onEvent((event) => {
      told.push(event.type);
      if (event.type === "idle") idle.resolve();
    });
    await appendFile(file, chain("d", "one more"));
    await idle.promise;
    stop();
    let text = "";
    while (text.split("data: ").length - 1 <= told.length) text += (await reader.read()).value;
    const types = [...text.matchAll(/"type":"(\w+)"/g)].map(([, type]) => type);
    assert.deepEqual(types.slice(0, told.length + 1), ["idle", ...told]);
    await reader.cancel();
  });

  it("gives new lines by a place in the file, whole ones only", async () => {
    const first = await read<LinesView>("/api/lines?file=metrics.jsonl&from=0");
    assert.deepEqual(first.lines, [
      { step: 1, loss: 2 },
      { step: 2, loss: 1 },
    ]);
    assert.deepEqual((await read<LinesView>(`/api/lines?file=metrics.jsonl&from=${first.next}`)).lines, []);
    assert.equal((await ask("/api/lines?file=../../etc/passwd")).status, 404);
  });

  it("indexes a file anew that was replaced, and forgets one that is gone", async () => {
    const changed = async (change: () => Promise<void>, isDone: () => Promise<boolean>) => {
      await change();
      for (;;) {
        if (await isDone()) return;
        const next = Promise.withResolvers<void>();
        const stop = studio.context.catalog.onEvent(() => next.resolve());
        if (!(await isDone())) await next.promise;
        stop();
      }
    };
    const found = async (q: string) => (await read<ItemPage>(`/api/items?kind=chain&q=${q}`)).total;
    const other = join(folder, "other.jsonl");
    await changed(
      () => writeFile(other, chain("first", "alpha")),
      async () => (await found("alpha")) === 1,
    );
    await changed(
      () => writeFile(other, chain("second", "beta")),
      async () => (await found("beta")) === 1,
    );
    assert.equal(await found("alpha"), 0);
    await changed(
      () => rm(other),
      async () => (await found("beta")) === 0,
    );
  });

  it("says where a record is broken instead of hiding it", async () => {
    const broken = Promise.withResolvers<void>();
    const stop = studio.context.catalog.onEvent((event) => event.type === "idle" && broken.resolve());
    await writeFile(join(folder, "broken.jsonl"), `${chain("ok", "x")}not json\n${chain("bad", "x", { ending: 7 })}`);
    await broken.promise;
    stop();
    const { files } = await read<{ files: { path: string; bad: number; problem: string }[] }>("/api/overview");
    const found = files.find(({ path }) => path === "broken.jsonl")!;
    assert.equal(found.bad, 1);
    assert.match(found.problem, /^line 2: /);
    const answer = await ask("/api/beside?chain=bad");
    assert.equal(answer.status, 400);
    assert.match(
      ((await answer.json()) as { error: { message: string } }).error.message,
      /broken\.jsonl:3 can't be shown/,
    );
    assert.equal((await ask("/api/beside?chain=nobody")).status, 404);
  });
});
