/** `/openapi.json` of every server that has one, by a public validator, and against what the server really serves. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { mhqaProfile } from "../../src/language/profiles.ts";
import { rewardHandler } from "../../src/serve/reward-handler.ts";
import { rolloutHandler } from "../../src/serve/rollout-handler.ts";
import type { ServedHandler } from "../../src/serve/served-handler.ts";
import { toolHandler } from "../../src/serve/tool-handler.ts";
import { scriptedModel, tableTool } from "../../src/testing/index.ts";
import { adaHandler } from "../fixtures/serve-server.ts";

const name = "@seriousme/openapi-schema-validator";
const there = existsSync(join(import.meta.dirname, "node_modules", name));
const skip = there ? false : "install the clients first: npm install --prefix test/clients";
// biome-ignore lint/suspicious/noExplicitAny: a page of another's format
type Loose = any;

const tools = [tableTool({ Ada: "Ada lives in Lyon." }, "wiki_search")];
const keys = [{ key: "first-key" }];
const servers: Record<string, () => Promise<ServedHandler> | ServedHandler> = {
  "a chain": () => adaHandler({ keys }),
  "a chain without keys": () => adaHandler({}),
  tools: () => toolHandler({ tools, keys, routes: { "POST /retrieve": () => ({}) } }),
  rewards: () => rewardHandler({ keys, grader: async () => ({ correct: true, score: 1, reason: "" }) }),
  rollouts: () =>
    rolloutHandler({ keys, profile: mhqaProfile, toolsOf: () => tools, policyAt: () => scriptedModel([]) }),
};

describe("the description of a server's routes", { skip }, () => {
  for (const [what, open] of Object.entries(servers))
    it(`is valid OpenAPI 3.1 and describes what is served: ${what}`, async () => {
      const { Validator } = await import(name as string);
      const served = await open();
      const ask = (method: string, path: string) =>
        served.fetch(
          new Request(`http://localhost${path}`, { method, headers: { authorization: "Bearer first-key" } }),
        );
      const page: Loose = await (await ask("GET", "/openapi.json")).json();
      const { valid, errors } = await new Validator().validate(structuredClone(page));
      assert.ok(valid, JSON.stringify(errors));
      const described = Object.entries<Loose>(page.paths);
      for (const [path, operations] of described) {
        const asked = path.replace(/\{\w+\}/g, "none");
        const refused = await ask("PATCH", asked);
        assert.equal(refused.status, 405, asked);
        const allowed = refused.headers.get("allow")!.toLowerCase().split(", ");
        for (const method of Object.keys(operations)) assert.ok(allowed.includes(method), `${method} ${path}`);
      }
      assert.ok(described.length > 5);
      for (const path of ["/health", "/ready"])
        assert.deepEqual(page.paths[path].get.security, page.security && [], `${path} needs no key`);
    });
});
