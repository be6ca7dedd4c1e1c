/** The package as a stranger gets it: packed, installed into an empty folder, run there by the Node that is at hand. */
import assert from "node:assert/strict";
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import manifest from "../package.json" with { type: "json" };

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "coa-package-"));
const npm = (...args: string[]) =>
  execFileSync("npm", [...args, "--no-audit", "--no-fund", "--loglevel=error"], { cwd: folder, encoding: "utf8" });
const bin = join(folder, "node_modules", "chain-of-agents", "bin", "coa.js");

describe("the packed package", () => {
  before(() => {
    execFileSync("npm", ["pack", "--pack-destination", folder, "--loglevel=error"], { cwd: root, encoding: "utf8" });
    writeFileSync(join(folder, "package.json"), '{ "name": "empty", "type": "module", "private": true }\n');
    const [tarball] = globSync("*.tgz", { cwd: folder });
    // A plain install in which every install script fails, as where the host that it asks can't be reached.
    npm("install", `./${tarball}`, "--script-shell=/bin/false");
    try {
      // The package that holds Node's binary for this platform, without the script that links it.
      npm("install", `node-${process.platform}-${process.arch}@24`, "--ignore-scripts");
    } catch {
      // Said by the test below.
    }
    try {
      npm("install", `@oven/bun-${process.platform}-${process.arch}`, "--ignore-scripts");
    } catch {
      // Said by the test of Bun.
    }
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  it("shows its help on Node 26 and on Node 24", (context) => {
    const nodes = [
      process.execPath,
      ...globSync("node_modules/node-*/bin/node", { cwd: folder }).map((path) => join(folder, path)),
    ];
    if (nodes.length === 1) context.diagnostic("no Node 24 for this platform: only the running Node was tried");
    for (const node of nodes) {
      const { status, stdout, stderr } = spawnSync(node, [bin, "--help"], { cwd: folder, encoding: "utf8" });
      assert.equal(status, 0, stderr);
      assert.match(stdout, /coa <command>/);
    }
  });

  it("installs in at most 150 MB, without the training runtime, and samples without it", () => {
    const files = globSync("node_modules/**", { cwd: folder, withFileTypes: true })
      .filter((entry) => entry.isFile() && !/node_modules[\\/]node-[^\\/]+[\\/]/.test(`${entry.parentPath}/`))
      .map((entry) => statSync(join(entry.parentPath, entry.name)).size);
    const megabytes = files.reduce((sum, size) => sum + size, 0) / 2 ** 20;
    assert.ok(megabytes <= 150, `${megabytes.toFixed(0)} MB`);
    assert.ok(!existsSync(join(folder, "node_modules", "onnxruntime-node")));
    assert.ok(!existsSync(join(folder, "node_modules", "onnxruntime-web")));
    const run = (...args: string[]) =>
      spawnSync(process.execPath, [bin, ...args], {
        cwd: folder,
        encoding: "utf8",
        env: { PATH: process.env["PATH"] },
      });
    const asked = run("ask", "--lab", "7", "--model", "afm-lab-2m", "What is 12 times 30 plus 4?", "--json");
    assert.doesNotMatch(asked.stderr, /ONNX|onnxruntime/, asked.stderr);
    assert.match(asked.stdout, /"answer"|"segments"|"ending"/, asked.stderr);
    // A folder above may have the runtime; then there is nothing to advise.
    const reachable = [1, 2, 3].some((up) =>
      existsSync(join(folder, "../".repeat(up), "node_modules/onnxruntime-node")),
    );
    if (!reachable) assert.match(run("doctor").stdout, /npm install --ignore-scripts onnxruntime-node/);
  });

  it("is importable by its name, with its testing doubles and its types", () => {
    writeFileSync(
      join(folder, "use.js"),
      'import { webProfile, runChain } from "chain-of-agents";\nimport { scriptedModel } from "chain-of-agents/testing";\nconsole.log(webProfile.name, typeof runChain, typeof scriptedModel);\n',
    );
    const { stdout, stderr } = spawnSync(process.execPath, ["use.js"], { cwd: folder, encoding: "utf8" });
    assert.equal(stdout.trim(), "web function function", stderr);
    assert.ok(existsSync(join(folder, "node_modules/chain-of-agents/dist/index.d.ts")));
  });

  it("gives a strict TypeScript project the types of every entry", () => {
    const entries = Object.keys(manifest.exports).filter((entry) => entry !== "./package.json");
    const lines = entries.map((entry, at) => `import * as entry${at} from "chain-of-agents${entry.slice(1)}";`);
    writeFileSync(join(folder, "all.ts"), `${lines.join("\n")}\nexport { ${entries.map((_, at) => `entry${at}`)} };\n`);
    symlinkSync(join(root, "node_modules", "@types"), join(folder, "node_modules", "@types"));
    const strict = [
      "--strict",
      "--noUncheckedIndexedAccess",
      "--exactOptionalPropertyTypes",
      "--skipLibCheck",
      "false",
    ];
    const options = ["--module", "nodenext", "--target", "es2024", "--types", "node", "--noEmit", ...strict];
    const tsc = join(root, "node_modules", ".bin", "tsc");
    const { stdout } = spawnSync(tsc, [...options, "all.ts"], { cwd: folder, encoding: "utf8" });
    // Other people's declarations are theirs: with `skipLibCheck` false the compiler reads those too.
    const ours = stdout
      .split("\n")
      .filter((line) => line !== "" && !/^(?: |node_modules\/(?!chain-of-agents\/))/.test(line));
    assert.deepEqual(ours, []);
  });

  it("is importable entry by entry in Bun, and runs there", (context) => {
    const [bun] = globSync("node_modules/@oven/bun-*/bin/bun", { cwd: folder });
    if (!bun) return context.skip("no Bun for this platform, or no registry to fetch it from");
    const run = (...args: string[]) => spawnSync(join(folder, bun), args, { cwd: folder, encoding: "utf8" });
    const entries = Object.keys(manifest.exports).filter((entry) => !["./package.json", "./register"].includes(entry));
    const names = JSON.stringify(entries.map((entry) => `chain-of-agents${entry.slice(1)}`));
    writeFileSync(join(folder, "all.js"), `for (const name of ${names}) await import(name);\nconsole.log("all");\n`);
    const imported = run("all.js");
    assert.equal(imported.stdout.trim(), "all", imported.stderr);
    const help = run(bin, "--help");
    assert.match(help.stdout, /coa <command>/, help.stderr);
    const asked = run(bin, "ask", "--lab", "7", "--model", "afm-lab-2m", "What is 12 times 30 plus 4?", "--json");
    assert.match(asked.stdout, /"answer": ?"364"/, asked.stderr);
  });

  it("asks, records a Node and a Python program, and serves, on Node 26, Node 24 and Bun", async (context) => {
    const found = ["node_modules/node-*/bin/node", "node_modules/@oven/bun-*/bin/bun"].map((pattern) =>
      globSync(pattern, { cwd: folder }).map((path) => join(folder, path)),
    );
    for (const [at, name] of ["Node 24", "Bun"].entries())
      if (found[at]!.length === 0) context.diagnostic(`no ${name} for this platform: not tried`);
    const question = "What is 12 times 30 plus 4?";
    const model = await loopbackModel();
    writeFileSync(join(folder, "app.mjs"), nodeProgram);
    writeFileSync(join(folder, "app.py"), pythonProgram);
    const programs = [[process.execPath, "app.mjs"], ...(hasPython() ? [["python3", "app.py"]] : [])];
    try {
      for (const runtime of [process.execPath, ...found.flat()]) {
        const env = {
          PATH: process.env["PATH"],
          OPENAI_BASE_URL: model.url,
          COA_HOME: mkdtempSync(join(folder, "home-")),
        };
        const run = async (...args: string[]) =>
          (await promisify(execFile)(runtime, [bin, ...args], { cwd: folder, env })).stdout;
        const asked = await run("ask", "--lab", "7", "--model", "afm-lab-2m", question, "--json");
        assert.match(asked, /"answer": ?"364"/);
        const recordings = join(env.COA_HOME, "recordings");
        for (const program of programs)
          assert.match(await run("record", "run", "--folder", recordings, "--", ...program), /four/);
        const runs = JSON.parse(await run("show", recordings, "--json")) as { question: string; answer: string }[];
        assert.deepEqual(
          runs.map((one) => [one.question, one.answer]),
          programs.map(() => ["What is 2 + 2?", "four"]),
        );
        const server = spawn(runtime, [bin, "serve", "--lab", "7", "--model", "afm-lab-2m", "--port", "0"], {
          cwd: folder,
          env,
          stdio: ["ignore", "pipe", "pipe"],
        });
        const ended = new Promise((resolve) => server.once("exit", resolve));
        try {
          const body = JSON.stringify({ model: "afm-lab-2m", messages: [{ role: "user", content: question }] });
          const reply = await fetch(`${await readyAt(server)}/v1/chat/completions`, {
            method: "POST",
            headers: { "content-type": "application/json" },
            body,
          });
          const { choices } = (await reply.json()) as { choices: { message: { content: string } }[] };
          assert.equal(choices[0]?.message.content, "364", runtime);
        } finally {
          server.kill();
          await ended;
        }
      }
    } finally {
      await model.close();
    }
  });

  it("tells an old Node in one sentence and exits 2", (context) => {
    const old = ["/usr/bin/node", "/usr/local/bin/node"].find((path) => existsSync(path) && major(path) < 24);
    if (!old) return context.skip("no old Node on this machine");
    const { status, stderr } = spawnSync(old, [bin, "--help"], { encoding: "utf8" });
    assert.equal(status, 2);
    assert.match(stderr, /^coa needs Node 24 or newer; this is Node \d+\.\d+\.\d+\.\n$/);
  });
});

function major(node: string): number {
  return Number(/v(\d+)/.exec(spawnSync(node, ["--version"], { encoding: "utf8" }).stdout)?.[1]);
}

/** A chat server on loopback that answers every request alike. */
async function loopbackModel(): Promise<{ url: string; close(): Promise<unknown> }> {
  const message = { role: "assistant", content: "four" };
  const usage = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };
  const reply = {
    id: "1",
    object: "chat.completion",
    model: "m",
    choices: [{ index: 0, finish_reason: "stop", message }],
    usage,
  };
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => new Promise((resolve) => server.close(resolve).closeAllConnections());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, close };
}

const request = '{ "model": "m", "messages": [{ "role": "user", "content": "What is 2 + 2?" }] }';
const nodeProgram = `const url = process.env.OPENAI_BASE_URL + "/chat/completions";
const headers = { "content-type": "application/json", authorization: "Bearer k" };
const reply = await fetch(url, { method: "POST", headers, body: JSON.stringify(${request}) });
console.log((await reply.json()).choices[0].message.content);
`;
const pythonProgram = `import json, os, urllib.request
headers = {"content-type": "application/json", "authorization": "Bearer k"}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
request = urllib.request.Request(url, json.dumps(${request}).encode(), headers)
print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
`;

function hasPython(): boolean {
  return spawnSync("python3", ["--version"]).status === 0;
}

/** The address that a server prints when it is ready. */
function readyAt(server: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = "";
    for (const stream of [server.stdout!, server.stderr!])
      createInterface({ input: stream }).on("line", (line) => {
        printed += `${line}\n`;
        if (line.startsWith("ready ")) resolve(line.slice(6));
      });
    server.once("exit", () => reject(new Error(`the server ended: ${printed}`)));
  });
}
