import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { redactSecrets } from "./redact.ts";

const letters = "abcDEF0123456789abcDEF0123456789";

describe("redactSecrets", () => {
  it("blanks keys of every known shape, and the words around them stay", () => {
    const keys = [
      `sk-proj-${letters}`, `sk_live_${letters}`, `gsk_${letters}`, `xai-${letters}`, `tvly-dev-${letters}`, `pplx-${letters}`,
      `glpat-${letters}`, `npm_${letters}`, `ghp_${letters}`, `hf_${letters}`, `AKIAABCDEFGHIJKLMNOP`, `AIza${letters}abcdef`,
      `eyJhbGciOiJIUzI1NiJ9.${letters}.${letters}`, `xoxb-${letters}`, `lsv2_pt_${letters}`,
      `-----BEGIN RSA PRIVATE KEY-----\n${letters.repeat(2)}\n-----END RSA PRIVATE KEY-----`,
      `-----BEGIN PRIVATE KEY-----\n${letters.repeat(2)}\n${letters.repeat(2)}`,
    ]; // biome-ignore format: a list
    for (const key of keys) {
      for (const [before, after] of [
        ["use ", " now"],
        ["(", ")"],
        ["key=", "&x=1"],
        ['"', '"'],
        ["see https://a.example/?q=", "#top"],
      ]) {
        const clean = String(redactSecrets(`${before}${key}${after}`));
        assert.ok(!clean.includes(letters.slice(8)), `${key}: ${clean}`);
        assert.ok(clean.startsWith(before!) && clean.includes("[redacted]"), clean);
      }
    }
    assert.equal(redactSecrets(`Authorization: Bearer ${letters}`), "Authorization: Bearer [redacted]");
  });

  it("blanks fields with the names of credentials, whatever the spelling, and leaves others", () => {
    const secrets = ["token", "accessToken", "refresh_token", "OPENAI_API_KEY", "SERPER_API_KEY", "x-api-key", "apiKey", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "client_secret", "password", "Cookie", "set-cookie", "Authorization", "privateKey", "db.password", "session_token"]; // biome-ignore format: a list
    for (const name of secrets) {
      assert.deepEqual(redactSecrets({ [name]: "plain words" }), { [name]: "[redacted]" }, name);
      assert.deepEqual(
        redactSecrets([
          { name, value: "v" },
          { key: name, value: { stringValue: "v" } },
        ]),
        [
          { name, value: "[redacted]" },
          { key: name, value: { stringValue: "[redacted]" } },
        ],
      );
    }
    const others = {
      max_tokens: 5,
      prompt_tokens: 7,
      eos_token: "</s>",
      nextPageToken: "abc",
      keyword: "x",
      author: "Ada",
      description: "the secret garden",
      key: "c major",
    };
    assert.deepEqual(redactSecrets(others), others);
    const words = {
      logprobs: {
        content: [{ token: " Paris", logprob: -0.1, bytes: null, top_logprobs: [{ token: "x", logprob: -3 }] }],
      },
    };
    assert.deepEqual(redactSecrets(words), words);
    const schema = {
      parameters: { properties: { password: { type: "string", description: "of the user" } }, required: ["password"] },
    };
    assert.deepEqual(redactSecrets(schema), schema);
    assert.deepEqual(redactSecrets({ cookies: { sid: "abc" } }), { cookies: { sid: "[redacted]" } });
  });

  it("looks into JSON inside texts, and leaves the text alone where nothing is secret", () => {
    const call = {
      name: "http",
      arguments: '{"url": "https://a.example", "headers": {"X-Api-Key": "v1"}, "body": "{\\"password\\": \\"v2\\"}"}',
    };
    const clean = JSON.stringify(redactSecrets(call));
    assert.doesNotMatch(clean, /v1|v2/);
    assert.match(clean, /a\.example/);
    const plain = { arguments: '{ "q":  1.0 }' };
    assert.deepEqual(redactSecrets(plain), plain);
    assert.doesNotMatch(String(redactSecrets('{"api_key": "hunter2-abc", "cut o')), /hunter2/);
    assert.doesNotMatch(String(redactSecrets('data: {"delta":"{\\"token\\": \\"hunter2-abc\\""}')), /hunter2/);
  });

  it("blanks parameters of addresses, passwords before a host, cookies and assignments", () => {
    const cases = {
      "/v1/models?key=hunter2abc&alt=sse": "/v1/models?key=[redacted]&alt=sse",
      "https://a.example/x?q=1&api_key=hunter2abc": "https://a.example/x?q=1&api_key=[redacted]",
      "https://a.example/?access_token=hunter2abc#f": "https://a.example/?access_token=[redacted]#f",
      "https://s3.example/o?X-Amz-Signature=hunter2abc": "https://s3.example/o?X-Amz-Signature=[redacted]",
      "postgres://ada:hunter2@db.example/x": "postgres://ada:[redacted]@db.example/x",
      "https://:hunter2@host/": "https://:[redacted]@host/",
      "export TAVILY_API_KEY=hunter2abc\nls": "export TAVILY_API_KEY=[redacted]\nls",
      "Cookie: sid=hunter2; theme=dark\nAccept: a": "Cookie: [redacted]\nAccept: a",
      "password: hunter2": "password: [redacted]",
    };
    for (const [text, wanted] of Object.entries(cases)) assert.equal(redactSecrets(text), wanted);
    for (const text of [
      "The secret: gardens of Kyoto.",
      "mail ada@b.example",
      "see https://a.example:8080/x@y",
      "token: Paris",
      "a:b@c",
    ]) {
      assert.equal(redactSecrets(text), text);
    }
  });

  it("blanks what the caller knows, and runs the hook last", () => {
    assert.equal(
      redactSecrets("is my-own-secret here", ["my-own-secret"], (value) => `${value}!`),
      "is [redacted] here!",
    );
  });
});
