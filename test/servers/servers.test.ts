/** Every server of ours, behind the same guard. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { type Guarded, guarded } from "../../src/base/http/guard.ts";
import { listen } from "../../src/base/http/listen.ts";
import { mhqaProfile } from "../../src/language/profiles.ts";
import { startCollector } from "../../src/record/collector/start-collector.ts";
import { startProxy } from "../../src/record/proxy/start-proxy.ts";
import { chainHandler } from "../../src/serve/chain-handler.ts";
import { rewardHandler } from "../../src/serve/reward-handler.ts";
import { rolloutHandler } from "../../src/serve/rollout-handler.ts";
import { toolHandler } from "../../src/serve/tool-handler.ts";
import { trainerHandler } from "../../src/serve/trainer/trainer-handler.ts";
import { studioHandler } from "../../src/studio/api/studio-handler.ts";
import { scriptedModel, tableTool } from "../../src/testing/index.ts";
import { retrieveRoute } from "../../src/tools/local-index/retrieve-route.ts";
import { coordinatorHandler } from "../../src/train/workers/coordinator-handler.ts";
import { leaseBoard } from "../../src/train/workers/lease-board.ts";
import { byteTokenizer } from "../fixtures/conformance/byte-tokenizer.ts";
import { digitEngine } from "../fixtures/digit-game.ts";
import { digitRun } from "../fixtures/digit-run.ts";
import { startModelServer } from "../fixtures/model-server.ts";
import { good } from "../fixtures/serve-server.ts";
import { type ContractServer, secretDetail, serverContract } from "./server-contract.ts";

// biome-ignore lint/suspicious/noExplicitAny: bodies of many servers
type Loose = any;
const folder = await mkdtemp(join(tmpdir(), "coa-servers-"));
after(() => rm(folder, { recursive: true, force: true }));

const broken = (): never => {
  throw new Error(secretDetail);
};
const onRequest = () => {}; // what breaks is broken on purpose
const keys = [{ key: "contract-key" }];
const key = { authorization: "Bearer contract-key" };
const tool = tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search");
const question = "Where does Ada live?";
const messages = [{ role: "user", content: question }];

const openaiMessage = ({ error }: Loose): string => {
  assert.deepEqual(Object.keys(error).toSorted(), ["code", "message", "param", "type"]);
  return error.message;
};
const plainMessage = ({ error }: Loose): string => error.message;

/** The handler on a port, with what the suite needs. */
async function on(
  served: Guarded,
  about: Omit<ContractServer, "origin" | "close" | "key"> & { key?: Record<string, string> },
) {
  const { origin, close } = await listen(served);
  return { origin, close, key, ...about };
}

const apis = {
  "/v1/chat/completions": { body: { messages }, wrong: { messages: 7 }, messageOf: openaiMessage },
  "/v1/responses": { body: { input: question }, wrong: { input: 7 }, messageOf: openaiMessage },
  "/v1/chains": { body: { question }, wrong: { question: 7 }, messageOf: openaiMessage },
  "/v1/messages": {
    body: { messages, max_tokens: 99 },
    wrong: { messages: 7, max_tokens: 99 },
    messageOf: ({ type, error }: Loose): string => {
      assert.equal(type, "error");
      return error.message;
    },
  },
};
for (const [path, { body, wrong, messageOf }] of Object.entries(apis))
  serverContract(`the chain's server at ${path}`, async () => {
    let breaks = false;
    const served = await chainHandler({
      model: scriptedModel(good),
      profile: mhqaProfile,
      toolsOf: () => (breaks ? broken() : [tool]),
      keys,
      onRequest,
    });
    const server = await on(served, { post: { path, body }, wrong: { body: wrong }, fault: { path, body }, messageOf });
    // The last of the suite's requests is the one that breaks.
    return Object.defineProperty(server, "fault", {
      get: () => {
        breaks = true;
        return { path, body };
      },
    });
  });

serverContract("the tools' server", () =>
  on(toolHandler({ tools: [tool], keys, onRequest, routes: { "POST /broken": broken } }), {
    post: { path: "/tools/wiki_search", body: { input: { query: "Ada" } } },
    wrong: { body: [7] },
    fault: { path: "/broken", body: {} },
    messageOf: openaiMessage,
  }),
);

serverContract("the tools' server at /mcp", () =>
  on(toolHandler({ tools: [tool], keys, onRequest, routes: { "POST /broken": broken } }), {
    key: { ...key, accept: "application/json, text/event-stream" },
    post: { path: "/mcp", body: { jsonrpc: "2.0", id: 1, method: "tools/list" } },
    wrong: { body: { jsonrpc: "2.0", id: 1, method: 7 } },
    fault: { path: "/broken", body: {} },
    messageOf: plainMessage,
  }),
);

serverContract("the retrieval server", () => {
  const index = { search: (query: string) => (query === "break" ? broken() : []) };
  const errorBody = ({ message }: Error) => ({ error: message });
  return on(guarded({ "POST /retrieve": retrieveRoute(index) }, { keys, onRequest, errorBody }), {
    post: { path: "/retrieve", body: { queries: ["Ada"] } },
    wrong: { body: { queries: "Ada" } },
    fault: { path: "/retrieve", body: { queries: ["break"] } },
    messageOf: ({ error }: Loose) => error,
  });
});

serverContract("the rewards' server", () =>
  on(
    rewardHandler({
      grader: async ({ id }) => (id === "break" ? broken() : { correct: true, score: 1, reason: "" }),
      keys,
      onRequest,
    }),
    {
      post: { path: "/reward", body: { text: "Lyon", answers: ["Lyon"] } },
      wrong: { body: { text: 7, answers: ["Lyon"] } },
      fault: { path: "/reward", body: { text: "x", task: { id: "break", question: "?", answers: ["Lyon"] } } },
      messageOf: openaiMessage,
    },
  ),
);

serverContract("the rollouts' server", () => {
  const policyAt = ({ model }: { model?: string }) =>
    model === "break" ? broken() : scriptedModel(good, { tokenizer: byteTokenizer() });
  const baseURL = "http://127.0.0.1:9/v1";
  const items = [{ question }];
  return on(rolloutHandler({ policyAt, profile: mhqaProfile, toolsOf: () => [tool], keys, onRequest }), {
    post: { path: "/rollouts", body: { baseURL, items } },
    wrong: { body: { baseURL, items: "all" } },
    fault: { path: "/rollouts", body: { baseURL, items, model: "break" } },
    messageOf: openaiMessage,
  });
});

serverContract("the training server", async () => {
  const checkpoints = join(folder, "checkpoints");
  await mkdir(join(checkpoints, "m", "weights", "broken"), { recursive: true });
  await writeFile(join(checkpoints, "m", "weights", "broken", "checkpoint.json"), secretDetail); // not JSON
  const served = trainerHandler({
    baseModel: "coa/test",
    maxContext: 16,
    openAdapter: async () => broken(),
    checkpoints,
    keys: ["contract-key"],
    onRequest,
  });
  const ask = new Request("http://localhost/api/v1/create_session", { method: "POST", headers: key });
  const { session_id }: Loose = await (await served.fetch(ask)).json();
  return on(served, {
    key: { "x-api-key": "contract-key" },
    post: { path: "/api/v1/session_heartbeat", body: { session_id } },
    wrong: { path: "/api/v1/optim_step", body: { model_id: 7 }, status: 422 },
    fault: { path: "/api/v1/weights_info", body: { tinker_path: "tinker://m/weights/broken" } },
    messageOf: ({ detail }: Loose) => detail,
  });
});

serverContract("the coordinator", () => {
  const board = {
    ...leaseBoard({ deadlineMs: 1000, silenceMs: 1000 }),
    heard: (name: string) => name === "break" && broken(),
  };
  return on(
    coordinatorHandler({
      board: board as Loose,
      run: digitRun(digitEngine(), 1000),
      keys: ["contract-key"],
      onRequest,
    }),
    {
      post: { path: "/worker/alive", body: { worker: "w" } },
      wrong: { body: { worker: 7 } },
      fault: { path: "/worker/alive", body: { worker: "break" } },
      messageOf: plainMessage,
    },
  );
});

serverContract("the studio", () => {
  const more = { "POST /api/echo": ({ json }: Loose) => json(), "POST /api/broken": broken };
  return on(studioHandler({} as never, { token: "contract-key", app: new Map(), more, onRequest }), {
    post: { path: "/api/echo", body: {} },
    wrong: { body: [7] },
    fault: { path: "/api/broken", body: {} },
    messageOf: plainMessage,
  });
});

serverContract("the recording proxy", async () => {
  const upstream = await startModelServer({ answer: () => "Lyon" });
  const proxy = await startProxy({
    to: upstream.url,
    folder: join(folder, "proxy"),
    keys: ["contract-key"],
    budget: { perRun: { tokens: 50_000 } },
    onProblem: (text) => (text.startsWith("budget:") ? broken() : undefined),
  });
  const path = "/v1/chat/completions";
  return {
    origin: proxy.origin,
    async close() {
      await proxy.close();
      await upstream.close();
    },
    key: { "x-coa-key": "contract-key" },
    post: { path, body: { model: "m", messages } },
    wrong: { body: [7] },
    fault: {
      path: `/r/break${path}`,
      body: { model: "m", messages: [{ role: "user", content: "x ".repeat(200_000) }] },
    },
    messageOf: plainMessage,
    passesOn: true,
  };
});

serverContract("the collector", async () => {
  let breaks = false;
  const redact = (value: unknown) => (breaks ? broken() : value);
  const collector = await startCollector({
    folder: join(folder, "traces"),
    keys: ["contract-key"],
    redact,
    onProblem: () => {},
  });
  const body = { resourceSpans: [] };
  return Object.defineProperty(
    {
      origin: collector.url,
      close: collector.close,
      key,
      post: { path: "/v1/traces", body },
      wrong: { body: { resourceSpans: 7 } },
      fault: { path: "/v1/traces", body },
      messageOf: ({ error }: Loose) => error,
    },
    "fault",
    {
      get: () => {
        breaks = true;
        const times = { startTimeUnixNano: "1", endTimeUnixNano: "2" };
        const attributes = [{ key: "gen_ai.operation.name", value: { stringValue: "chat" } }];
        const span = { traceId: "a".repeat(32), spanId: "b".repeat(16), name: "chat", ...times, attributes };
        return { path: "/v1/traces", body: { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] } };
      },
    },
  );
});
