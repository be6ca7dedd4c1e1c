import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { withServer } from "../../test/fixtures/serve-server.ts";

describe("the page at /", () => {
  it("says what runs and how to call it, and allows no script but its own", async () => {
    await withServer({ name: "<img src=x>", keys: [{ key: "sk-test-key" }] }, async (ask, origin) => {
      const response = await ask("/");
      assert.equal(response.status, 200);
      const html = await response.text();
      assert.ok(html.includes(`${origin}/v1/chat/completions`));
      assert.ok(html.includes("&lt;img src=x&gt;") && !html.includes("<img"));
      const policy = response.headers.get("content-security-policy") ?? "";
      assert.match(policy, /^default-src 'none'/);
      assert.doesNotMatch(policy, /unsafe/);
      const script = /<script>([\s\S]*)<\/script>/.exec(html)?.[1] ?? "";
      assert.ok(policy.includes(createHash("sha256").update(script).digest("base64")));
    });
  });
});
