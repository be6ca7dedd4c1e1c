import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { coa } from "../../test/fixtures/run-coa.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { readSettings } from "./command.ts";
import { settingArguments } from "./settings/index.ts";

const main = join(import.meta.dirname, "main.ts");
let folder: string;
let state: string; // of the user

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "coa-settings-"));
  state = await mkdtemp(join(tmpdir(), "coa-state-"));
});
afterEach(async () => {
  for (const one of [folder, state]) await rm(one, { recursive: true });
});

const { COA_HOME: _, ...environment } = process.env;
const runIn = (env: Record<string, string>, ...args: string[]) =>
  spawnSync(process.execPath, [main, ...args], { cwd: folder, encoding: "utf8", env: { ...environment, ...env } });
const run = (...args: string[]) => runIn({ XDG_STATE_HOME: state }, ...args);
const configure = (text: string) => writeFile(join(folder, "coa.config.ts"), text);
const read = (flags: Record<string, unknown>, configured = {}) =>
  readSettings({ name: "serve tools", reads: ["server"] }, flags, configured).server;

describe("settings", () => {
  it("come from the flag, else --set, else the configuration, else the default", () => {
    const configured = { server: { port: 1, host: "configured", cors: ["a"] } };
    assert.equal(read({}).port, 4242);
    assert.equal(read({}, configured).port, 1);
    assert.equal(read({ set: ["server.port=2"] }, configured).port, 2);
    assert.equal(read({ port: "3", set: ["server.port=2"] }, configured).port, 3);
    const mixed = read({ set: ["server.cors=b", "server.cors=c=d"] }, configured);
    assert.deepEqual([mixed.host, mixed.cors], ["configured", ["b", "c=d"]]);
  });

  it("are refused by --set where they do not exist, are not read, or have another kind", () => {
    assert.throws(() => read({ set: ["modl.name=x"] }), /no section "modl": did you mean model\?/);
    assert.throws(() => read({ set: ["server.prot=1"] }), /no setting "prot": did you mean port\?/);
    assert.throws(() => read({ set: ["server=1"] }), /no setting "". See: coa help settings server/);
    assert.throws(() => read({ set: ["server.port=many"] }), /--set server.port takes a whole number from 0 to 65535/);
    assert.throws(
      () => readSettings({ name: "x", reads: [] }, { set: ["server.port=1"] }, {}),
      /coa x does not read server settings/,
    );
  });

  it("are refused alone where they need another one", () => {
    const serve = (flags: object, configured = {}) =>
      readSettings({ name: "serve", reads: ["serve"] }, { ...flags }, configured).serve;
    assert.throws(() => serve({ audit: "1%" }), /^UsageError: --audit needs --cascade$/);
    assert.throws(() => serve({ cascade: true }), /^UsageError: --cascade needs --fallback$/);
    assert.equal(serve({ audit: "1%", cascade: true, fallback: "old" }).audit, "1%");
    assert.equal(serve({}, { serve: { audit: "3%" } }).audit, "3%", "configured for the calls that use it");
  });

  it("can be handed on to another command, by its flags and by --set", () => {
    const given = ["tools.results=5", "tools.robots", "tools.rename.web_search=find", "tools.block=a", "tools.block=b"];
    const read = { name: "x", reads: ["tools"] as const };
    const { tools } = readSettings(read, { tool: ["one.ts"], set: given }, {});
    const args = settingArguments("tools", tools, ["tool"]);
    assert.deepEqual(args.slice(0, 2), ["--tool", "one.ts"]);
    assert.deepEqual(
      readSettings(read, { tool: ["one.ts"], set: args.filter((word) => word.includes(".") && word !== "one.ts") }, {}),
      { tools },
    );
  });

  it("are listed with what they mean", async () => {
    const { stdout } = await coa("help", "settings", "server");
    assert.match(stdout, /server\.maxBodyMb +Max size of a request body in megabytes \(default: 20\)/);
    assert.match((await coa("serve", "tools", "--help")).stdout, /coa help settings (?:\w+ )*server/);
    await assert.rejects(coa("help", "settings", "nothing"), /no section "nothing"/);
  });
});

describe("coa.config.ts", () => {
  it("is read in a workspace made by coa init, and its mistakes are named with their line", async () => {
    assert.equal(run("init").status, 0);
    await configure('export default {\n  server: {\n    host: "127.0.0.1",\n    port: "x" as string,\n  },\n};\n');
    assert.match(run("show").stderr, /coa\.config\.ts:4: server\.port takes a whole number from 0 to 65535, not "x"/);
    await configure("export default {\n  server: { host: '127.0.0.1',\n    prot: 1 },\n};\n");
    assert.match(run("show").stderr, /coa\.config\.ts:3: server\.prot is not a setting: did you mean port\?/);
    await configure("export default {\n  sevrer: {} };\n");
    assert.match(run("show").stderr, /coa\.config\.ts:2: sevrer is not a section: did you mean server\?/);
    await configure("export default {\n  server: { port: 1 +* 2 },\n};\n");
    assert.match(run("show").stderr, /coa\.config\.ts can't be loaded: /);
    await configure("export const config = {};\n");
    assert.match(run("show").stderr, /no configuration as its default export/);
  });

  it("describes the workspace once: what is typed for a call replaces it", async () => {
    assert.equal(run("init").status, 0);
    await writeFile(join(folder, "towns.txt"), "Lyon is a city on the Rhône.");
    await configure('export default { tools: { docs: "towns.txt", names: ["wiki_search", "web_search"] } };\n');
    const names = (...args: string[]) => {
      const { stdout, stderr } = run("tools", "--json", ...args);
      assert.match(stdout, /^\[/, stderr);
      return (JSON.parse(stdout) as { name: string; detail: string }[]).map(({ name }) => name);
    };
    assert.deepEqual(names(), ["web_search", "wiki_search"]);
    assert.deepEqual(names("--tools", "crawl_page"), ["crawl_page"]);
    assert.deepEqual(names("--set", "tools.names=code"), ["code"]);
    // Configured documents do not stand in the way of an index that is typed.
    const [built] = (await readdir(join(folder, ".coa", "index"))).map((name) => join(".coa", "index", name));
    assert.deepEqual(names("--index", built!), ["web_search", "wiki_search"]);
  });

  it("is not run in a folder that coa init did not make a workspace, nor is its .env read", async () => {
    const shipped = join(import.meta.dirname, "..", "..", "weights", "afm-lab-2m");
    await cp(shipped, folder, { recursive: true });
    const plant = async () => {
      await configure('import { writeFileSync } from "node:fs";\nwriteFileSync("ran", "");\nexport default {};\n');
      await writeFile(join(folder, ".env"), "OPENAI_BASE_URL=http://127.0.0.1:9/v1\n");
    };
    await plant();
    const info = run("show", ".");
    assert.equal(info.status, 0, info.stderr);
    assert.match(info.stderr, /^not read: coa\.config\.ts, \.env\. To make this folder a workspace: coa init$/m);
    assert.match(run("ask", "Who?", "--model", "absent").stderr, /found no model "absent" here/);
    // A mark that a download brings along does not count, even where it knows the place it will be unpacked at.
    const here = realpathSync(folder);
    for (const place of [".coa", ".coa/chain-of-agents", ".local/state/chain-of-agents"]) {
      await mkdir(join(folder, place, "workspaces"), { recursive: true });
      await writeFile(join(folder, place, "workspaces", fingerprint(here)), `${here}\n`);
    }
    await writeFile(join(folder, ".coa", "workspace.json"), JSON.stringify({ version: 1, folders: [here] }));
    assert.match(run("show", ".").stderr, /not read: coa\.config\.ts/);
    for (const COA_HOME of [".coa", folder])
      assert.match(runIn({ COA_HOME }, "show", ".").stderr, /not read: coa\.config\.ts/);
    assert.equal(existsSync(join(folder, "ran")), false);
  });
});

describe("words that a command does not take", () => {
  it("are refused before anything is done", async () => {
    await assert.rejects(coa("clean", "mine"), /coa clean takes no argument; "mine" is one too many/);
    await assert.rejects(
      coa("model", "new", "a", "b"),
      /coa model new takes one argument \(<folder>\); "b" is one too many/,
    );
  });
});
