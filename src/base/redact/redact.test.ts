import assert from "node:assert/strict";
import { createHash } from "node:crypto";
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

  it("blanks what is given to a credential in commands, prose, elements, lists of headers and addresses in addresses", () => {
    const value = "Zq9XvB7mK2pL4tR8";
    const texts = [
      `tool --api-key ${value} run`, `mysql --password=${value}`, `curl -u ada:${value} https://a.example`, `set -x OPENAI_API_KEY ${value}`,
      `os.environ["OPENAI_API_KEY"] = "${value}"`, `my API key is ${value}.`, `**Password:** ${value}`, `machine x login ada password ${value}`,
      `<ns:password>${value}</ns:password>`, `<add key="ApiKey" value="${value}"/>`, `password: "my dog ${value} has fleas"`, `db_password: correct${value}`,
      `https://a.example/?next=https%3A%2F%2Fb.example%2F%3Ftoken%3D${value}`, `https://a.example/?api%5Fkey=${value}`, `https://a.example/#id_token=${value}`,
      `postgres://ada:a/b#${value}@db.example/x`, `https://${value}@github.com/a/b.git`, `https://hooks.slack.com/services/T0/B0/${value}`,
      `Authorization: Digest username="ada", response="${value}"`, `authorization: bearer ${value}`, `Server=x;Uid=a;Pwd=${value};`,
      `mysql -h db -u root -p${value} shop`, `mysqldump -p'${value}' shop`, `sshpass -p ${value} ssh a`, `das Passwort ist ${value}.`, `Kennwort: ${value}`,
      `le mot de passe est ${value}`, `la contraseña es "${value}"`, `密码是${value}`, `пароль: ${value}`, `MZq9XvB7mK2pL4tR8abcdefgh.GabcDe.${value}${value}`,
    ]; // biome-ignore format: a list
    for (const text of texts) {
      assert.doesNotMatch(String(redactSecrets(text)), /Zq9XvB7m|fleas/, text);
      assert.doesNotMatch(
        JSON.stringify(redactSecrets({ content: [{ text: `so: ${text}` }] })),
        /Zq9XvB7m|fleas/,
        text,
      );
    }
    const values = [
      { headers: [["X-Api-Key", value]] }, { rawHeaders: ["Accept", "a", "X-Api-Key", value] }, { auth: ["ada", value] }, { user: "ada", pass: value },
      { OPENAI_KEY: value }, { openaiKey: value }, { apiKeys: [value] }, { secrets: { a: value } }, { "x-functions-key": value }, { token: value, id: 5 },
      { name: "password", content: value }, { key: "api_key", content: value },
      { [`sk-${letters}`]: 1 },
    ]; // biome-ignore format: a list
    const base64 = (bytes: number) => createHash("sha512").update("x").digest().subarray(0, bytes).toString("base64");
    const bare = [base64(30), base64(32), base64(64), `token ${"0123456789abcdef".repeat(2)}`];
    for (const key of bare)
      assert.equal(String(redactSecrets(`use ${key}, please`)).replace("token ", ""), "use [redacted], please");
    for (const one of values)
      assert.doesNotMatch(JSON.stringify(redactSecrets(one)), /Zq9XvB7m|abcDEF/, JSON.stringify(one));
  });

  it("blanks a password in every language, after every command's flag, in stored forms and in pairs of any names", () => {
    const value = "Zq9XvB7mK2pL4tR8";
    const texts = [
      `lösenordet är ${value}`, `adgangskoden er ${value}`, `passordet: ${value}`, `salasana on ${value}`, `heslo je ${value}`, `jelszó: ${value}`, `şifre ${value}`,
      `la password è ${value}`, `la parola d'ordine è «${value}»`, `a senha é ${value}`, `Пароль — ${value}`, `パスワードは「${value}」です`, `كلمة المرور هي ${value}`, `पासवर्ड है ${value}`,
      `mật khẩu là ${value}`, `kata sandi adalah ${value}`, `ο κωδικός είναι ${value}`, `la clé API est ${value}${value}`, `la clave de API es: ${value}`, `pw: ${value}`,
      `| password | ${value} |`, `credentials: ada / ${value}`, `the token is ${"0123456789abcdef".repeat(2)}`.replace("0123456789abcdef", "9f86d081884c7d65"),
      `redis-cli -h x -a ${value} ping`, `mongosh -u admin -p ${value}`, `docker login -u ada -p ${value} r.example`, `smbclient //h/s -U ada%${value}`, `7z x -p${value} a.7z`,
      `ldapsearch -D cn=a -w ${value} -b x`, `sqlcmd -S h -U sa -P '${value} x'`, `net use z: /user:ada ${value}`, `PGPASSWORD=${value} psql`, `_authToken=${value}`,
      `Uid=ada;Pwd=two ${value};`, `jdbc:oracle:thin:ada/${value}@h:1521:x`, `localhost:5432:db:ada:${value}`, `.x.org\tTRUE\t/\tTRUE\t0\tsid\t${value}`, `password: >-\n  ${value}\n`,
      `<input name="p" type="password" value="${value}">`, `$2b$12$${value}${value}${value}`, `root:$6$rounds=5000$salt$${value}${value}`, `MIIEvQIBADANBgkqhkiG9w0BAQEFAASC${value}\n${value}${value}`,
      `SG.${value}abcdef.${value}${value}`, `eyJhbGciOiJSU0EifQ.${value}.${value}.${value}.${value}`, `https://${value}:x-oauth-basic@github.com/a`, `ApiKey ${value}==`, `AUTH PLAIN ${value}=`,
      `PuTTY-User-Key-File-3: x\nPrivate-Lines: 1\n${value}${value}\nPrivate-MAC: ${"0123456789abcdef".repeat(4)}`,
    ]; // biome-ignore format: a list
    for (const text of ["my PIN is 493817", "OTP: 493817", "Your verification code is 493817."])
      assert.doesNotMatch(String(redactSecrets(text)), /493817/, text);
    for (const text of texts) assert.doesNotMatch(String(redactSecrets(text)), /Zq9XvB7m|9f86d081/, text);
    const values = [
      { label: "Password", value }, { field: "api_key", text: value }, { id: "password", value }, { Key: "DB_PASSWORD", Value: value }, { k: "password", v: value },
      { variable: "GITHUB_TOKEN", value }, { label: "API key", value }, { passwort: value }, { mot_de_passe: value }, { contraseña: value }, { auths: { x: { auth: value } } },
      { passwords: [value, "other1"] }, ["host", "a", "x-api-key", value], ["accept", "*/*", "Authorization", `Custom ${value}`],
    ]; // biome-ignore format: a list
    for (const one of values) assert.doesNotMatch(JSON.stringify(redactSecrets(one)), /Zq9XvB7m/, JSON.stringify(one));
    const kept = [
      "Password for SOCKS5 authentication", "[Private Key Import](docs/key/import/pkcs8.md)", "password manager v2.10.3", "Das Passwort ist falsch. Zimmer A12345b",
      { name: "search", content: "Ada1815" }, { id: "token_count", value: 12 }, { auth: "oauth2" }, "the secret is in the garden of 1984a",
      ["city", "Lyon", "x", "4 12", "token", "12"], "the PIN is 4 digits long", "AUTH LOGIN", { passwords: 3 },
    ]; // biome-ignore format: a list
    for (const one of kept) assert.deepEqual(redactSecrets(one), one);
  });

  it("leaves ids, counts, words of a model, keys of tables and prose as they are", () => {
    const kept = [
      "call_AbC123dEf456GhI789jKl012", "toolu_01AbCdEfGhIjKlMnOpQrStUv", "chatcmpl-9abcDEF0123456789abcDEF01234567",
      "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b", "the bearer transportation-company", "password policy requires 12 characters",
      "PRIMARY_KEY id12345678901", "<td>pass</td>", "pass = 5", "api key is required", "--max-tokens 12345678", "secret_santa, fly_away, key-value",
      "https://a.example:8080/x?u=ada@b.example", "ssh://git@github.com/a/b.git", "https://medium.com/@user12345678901234567890/x",
      { prompt_cache_key: "abc12345678901234567", primaryKey: "id7", public_key: "x1", required: ["password", "email"] },
      { token: { id: 5, text: " the", logprob: -0.1 } }, { id: 5, token: " Paris" }, { pass: 12 }, "mysql -u root -p", "mysql --port 3306 -h x", "Das Passwort ist falsch.", "mkdir -p a1b2",
      `"integrity": "sha512-${createHash("sha512").update("x").digest("base64")}"`, createHash("sha1").update("x").digest("hex"), "packages/Foo2/src/Components/Button/ind",
      { role: "tool", name: "reset_password", content: "done1" }, `${"iVBORw0KGgoAAAANSUhEUg".repeat(3)}\n${createHash("sha256").update("x").digest("base64")}`, { headers: ["Token", "Price"] },
    ]; // biome-ignore format: a list
    for (const one of kept) assert.deepEqual(redactSecrets(one), one);
  });

  it("blanks what the caller knows, and runs the hook last", () => {
    assert.equal(
      redactSecrets("is my-own-secret here", ["my-own-secret"], (value) => `${value}!`),
      "is [redacted] here!",
    );
  });

  it("blanks what is set in SQL, on a machine, in a call of two words, and keys of further services", () => {
    const value = "Zq9XvB7mK2pL4tR8wY3nH6sD1";
    const base64 = Buffer.from(`ada:${value}`).toString("base64");
    const hex = "a1b2c3d4".repeat(6);
    const texts = [
      `_auth=${base64}`, `client-key-data: ${base64}${base64}`, `define('DB_PASSWORD', '${value}');`, `os.environ.setdefault("MY_API_KEY", "${value}")`,
      `CREATE USER ada IDENTIFIED BY '${value}'`, `alter user a identified with sha2 by "${value}"`, `openssl enc -aes256 -k ${value}`, `openssl rsa -passin pass:${value}`,
      `rclone obscure ${value}`, `htpasswd -b f ada ${value}`, `echo 'ada:${value}' | sudo chpasswd`, `aws configure set aws_secret_access_key ${value}`,
      `Log in with ada and ${value} as the password.`, `xoxc-${value}`, `pcsk_${value}`, `sk_${hex}`, `dp.st.dev.${value}${value}`, `1/1234567890123456:${hex.slice(0, 32)}`,
      `access-sandbox-a1b2c3d4-a1b2-a1b2-a1b2-a1b2c3d4e5f6`, `abc8Q~${value}${value.slice(0, 9)}`, `Seed phrase: ${"legal winner thank year wave sausage ".repeat(2).trim()}`,
    ]; // biome-ignore format: a list
    const leaks = (one: unknown) => assert.doesNotMatch(JSON.stringify(redactSecrets(one)), /Zq9|XvB7|a1b2c3d4|legal winner|YWRhOlpx/, JSON.stringify(one)); // biome-ignore format: one check
    for (const text of texts) leaks(`so: ${text}`);
    leaks({ kty: "EC", crv: "P-256", d: value });
    const plain = ["access_token is a field", "the seed phrase of a wallet has twelve words", `"username", "address 12 b"`, "12 is the password length", "sk_learn is a library"]; // biome-ignore format: a list
    for (const text of plain) assert.equal(redactSecrets(text), text);
    assert.deepEqual(redactSecrets({ kty: "RSA", n: "x", e: "AQAB" }), { kty: "RSA", n: "x", e: "AQAB" });
  });

  it("takes what is derived from a redacted text with it, also where a hook redacted it", () => {
    const beside = { tokens: [{ id: 3, text: "Ada" }], decoded_tokens: ["A", "da"], completion_tokens_text: ["A", "da"], embedding: [0.1, 0.2], sha256: "f52f", prompt_hash: "ab", promptHash: "ab", logprobs: { content: [{ token: "Ada", logprob: -1 }] }, prompt_token_ids: [1] }; // biome-ignore format: one value
    const kept = { usage: { prompt_tokens: 3, tokens: { input: 3 } }, system_fingerprint: "fp_1", model: "m" };
    assert.deepEqual(redactSecrets({ text: "password=hunter2abc", ...beside, ...kept }), { text: "password=[redacted]", ...kept }); // biome-ignore format: one check
    assert.deepEqual(redactSecrets({ text: "Ada", ...beside, ...kept }), { text: "Ada", ...beside, ...kept });
    const hook = (value: unknown) => ({ ...(value as object), text: "someone" });
    assert.deepEqual(redactSecrets({ text: "Ada", ...beside, ...kept }, [], hook), { text: "someone", ...kept });
  });
});
