/** What every server of ours keeps, whatever it serves: one suite over a maker of the server. */
import assert from "node:assert/strict";
import { request } from "node:http";
import { after, before, describe, it } from "node:test";

/** A server on a port, and what the suite needs to know of it. */
export interface ContractServer {
  origin: string;
  close(): Promise<void>;
  /** The headers that bring its key. */
  key: Record<string, string>;
  /** A route that takes a JSON object, and a body that it takes. */
  post: { path: string; body: unknown };
  /** A body of the wrong form, and its status where the protocol has one of its own. */
  wrong: { path?: string; body: unknown; status?: number };
  /** A request that breaks the server inside, with an error that says `secretDetail`. */
  fault: { method?: string; path: string; body?: unknown };
  /** Reads the message out of an error body, and checks its shape. */
  messageOf(body: unknown): string;
  /** It passes on what it does not know, so no path and method is refused. */
  passesOn?: boolean;
}

/** What only the log may say. */
export const secretDetail = "ENOENT: no such file, open '/home/ada/.keys'";

interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}

/** With headers that fetch does not let a caller set. */
function send(
  url: string,
  { method = "POST", headers = {}, body }: { method?: string; headers?: object; body?: string | Buffer },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers: { ...headers } }, async (response) => {
      const chunks: Buffer[] = await response.toArray();
      resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks).toString() });
      asked.destroy();
    });
    asked.on("error", reject);
    if (body === undefined && "content-length" in headers) asked.flushHeaders();
    else asked.end(body);
  });
}

/** Runs the contract against a server. */
export function serverContract(name: string, make: () => Promise<ContractServer>): void {
  describe(`${name} keeps the contract of servers`, () => {
    let server: ContractServer;
    before(async () => {
      server = await make();
    });
    after(() => server.close());

    const post = (body: unknown, headers: object = {}, path = server.post.path) =>
      send(server.origin + path, {
        headers: { "content-type": "application/json", ...server.key, ...headers },
        body: typeof body === "string" || body instanceof Buffer ? body : JSON.stringify(body),
      });
    /** Checks a refusal, and returns what it says. */
    const refused = (answer: Answer, ...statuses: number[]): string => {
      assert.ok(statuses.includes(answer.status), `${answer.status}: ${answer.body}`);
      assert.match(String(answer.headers["x-request-id"]), /^req_[0-9a-f]{32}$/);
      assert.match(String(answer.headers["content-type"]), /^application\/json/);
      const message = server.messageOf(JSON.parse(answer.body));
      assert.ok(message.length > 0);
      return message;
    };

    it("answers a good request, with an id of its own", async () => {
      const [one, two] = [await post(server.post.body), await post(server.post.body)];
      assert.ok(one.status >= 200 && one.status < 300, `${one.status}: ${one.body}`);
      assert.match(String(one.headers["x-request-id"]), /^req_/);
      assert.notEqual(one.headers["x-request-id"], two.headers["x-request-id"]);
    });

    it("needs its key", async () => {
      const none = Object.fromEntries(Object.keys(server.key).map((header) => [header, "Bearer other"]));
      refused(await post(server.post.body, none), 401);
      const { path, body } = server.post;
      refused(await send(server.origin + path, { body: JSON.stringify(body) }), 401);
    });

    it("refuses pages of other sites and names that are not this machine's", async () => {
      refused(await post(server.post.body, { origin: "https://evil.example" }), 403);
      refused(await post(server.post.body, { host: "evil.example" }), 403);
    });

    it("refuses paths and methods that it does not serve", async () => {
      if (server.passesOn) return;
      refused(await post({}, {}, `${server.post.path}/no/such/path`), 404);
      const { status, headers, body } = await send(server.origin + server.post.path, { method: "PUT", headers: server.key }); // biome-ignore format: one request
      refused({ status, headers, body }, 405);
      assert.match(String(headers["allow"]), /POST/);
    });

    it("refuses bodies that are too large, too deep, not UTF-8, not JSON, not an object", async () => {
      refused(await send(server.origin + server.post.path, { headers: { ...server.key, "content-length": 2 ** 40 } }), 413); // biome-ignore format: one request
      const deep = `{"a":${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
      assert.match(refused(await post(deep), 400), /nested more than/);
      assert.match(refused(await post(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])), 400), /UTF-8/);
      assert.match(refused(await post("{not json"), 400), /not JSON/);
      refused(await post("7"), 400);
      refused(await post("{}", { "content-encoding": "gzip" }), 400);
      refused(await post("{}", { "content-encoding": "rot13" }), 415);
    });

    it("refuses a body of the wrong form", async () => {
      refused(await post(server.wrong.body, {}, server.wrong.path), server.wrong.status ?? 400);
    });

    it("takes the next request after a client has left in the middle of its own", async () => {
      const url = server.origin + server.post.path;
      for (const part of ["", '{"half'])
        await new Promise<void>((resolve) => {
          const asked = request(url, { method: "POST", headers: { ...server.key, "content-length": 1000 } });
          asked.on("error", () => resolve());
          asked.on("close", () => resolve());
          asked.write(part === "" ? " " : part, () => asked.destroy());
        });
      assert.ok((await post(server.post.body)).status < 300);
    });

    it("does not tell what broke inside it", async () => {
      const { method, path, body } = server.fault;
      const answer = await send(server.origin + path, {
        method,
        headers: server.key,
        body: body === undefined ? undefined : JSON.stringify(body),
      });
      const message = refused(answer, 500);
      assert.doesNotMatch(answer.body, /ENOENT|ada/);
      assert.match(message, /internal error/);
    });
  });
}
