import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Tool } from "../core/tool.ts";
import { visualInspector } from "./visual-inspector.ts";

let folder = "";
let server: Server;
let tool: Tool;
let reply: unknown;
const asked: {
  path: string;
  key: unknown;
  body: { model: string; messages: { content: { text?: string; image_url?: { url: string } }[] }[] };
}[] = [];
const context = { signal: new AbortController().signal };
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-image-"));
  await mkdir(join(folder, "files"));
  await writeFile(join(folder, "files", "dot.png"), png);
  await writeFile(join(folder, "files", "fake.png"), "just text");
  await writeFile(join(folder, "secret.png"), png);
  await symlink(join(folder, "secret.png"), join(folder, "files", "link.png"));
  server = createServer(async (request, response) => {
    const text = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString();
    asked.push({ path: request.url!, key: request.headers.authorization, body: JSON.parse(text) });
    response.end(JSON.stringify(reply));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
  tool = visualInspector({ baseURL, model: "eye", apiKey: "k", folders: [join(folder, "files")], retries: 0 });
});
after(async () => {
  server.closeAllConnections();
  server.close();
  await rm(folder, { recursive: true, force: true });
});

describe("visualInspector", () => {
  it("sends the image and the question to the model and gives its description", async () => {
    reply = { choices: [{ message: { content: " A red dot. " } }] };
    assert.equal(await tool.execute({ file_path: "dot.png", question: "Which colour?" }, context), "A red dot.");
    const [request] = asked;
    assert.deepEqual([request!.path, request!.key, request!.body.model], ["/v1/chat/completions", "Bearer k", "eye"]);
    const [text, image] = request!.body.messages[0]!.content;
    assert.match(text!.text!, /Which colour\?/);
    assert.equal(image!.image_url!.url, `data:image/png;base64,${png.toString("base64")}`);
  });

  it("reads images from its folders only, whatever the path looks like", async () => {
    asked.length = 0;
    for (const file_path of ["../secret.png", join(folder, "secret.png"), "link.png", "absent.png", "fake.png", "."])
      await assert.rejects(async () => tool.execute({ file_path }, context), /no image|not an image/, file_path);
    assert.deepEqual(asked, []);
  });

  it("says when the model gives no text", async () => {
    reply = { choices: [] };
    await assert.rejects(async () => tool.execute({ file_path: "dot.png" }, context), /answered without a text/);
  });
});
