/**
 * The tutorials do what they say: from an empty folder, with the packed package and a scripted model behind OpenAI's API,
 * command by command as they stand on the page. Two things are ours: the package comes from the packed file, and the address
 * of the model is that of the server on this machine.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ScriptedLlm, startScriptedLlm } from "./fixtures/scripted-llm.ts";
import { shows, tutorialBlocks } from "./fixtures/tutorial-page.ts";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "coa-tutorial-"));
let llm: ScriptedLlm;
let tarball = "";

before(async () => {
  llm = await startScriptedLlm();
  execFileSync("npm", ["pack", "--pack-destination", folder, "--loglevel=error"], { cwd: root, encoding: "utf8" });
  tarball = join(folder, globSync("*.tgz", { cwd: folder })[0]!);
});
after(async () => {
  await llm.close();
  rmSync(folder, { recursive: true, force: true });
});

/** "One model answers 14 of 24 new questions (…) with 52 % of the team's tokens, $0.0014 instead of $0.0017 a right answer." */
const result =
  /One model answers (\d+) of \d+ new .* with (\d+) % of .* tokens, \$([\d.]+) instead of \$([\d.]+) a right/;
const given = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/OPENAI|_API_|^COA_|^HF_/.test(name)));

for (const page of ["documents.md", "traces.md"]) {
  describe(`docs/tutorials/${page}`, () => {
    it("works as it stands, from an empty folder to a model that answers with its tools", async () => {
      const here = join(folder, page);
      mkdirSync(here);
      // As `npm init -y` writes it.
      writeFileSync(join(here, "package.json"), '{ "private": true, "type": "commonjs" }\n');
      const results: { right: number; share: number; own: number; team: number }[] = [];
      const env: NodeJS.ProcessEnv = { ...given, PATH: [dirname(process.execPath), given["PATH"]].join(delimiter) };
      for (const { line, commands, shown } of tutorialBlocks(join(root, "docs", "tutorials", page))) {
        let output = "";
        for (const command of commands) {
          if (/^export OPENAI_BASE_URL=/.test(command)) {
            env["OPENAI_BASE_URL"] = llm.url;
            continue;
          }
          const typed = command.replace(
            /^npm install chain-of-agents$/,
            `npm install --no-audit --no-fund "${tarball}"`,
          );
          const { code, stdout, stderr } = await run(typed, here, env);
          assert.equal(code, 0, `docs/tutorials/${page}:${line}: ${command}\n${stdout}\n${stderr.slice(-4000)}`);
          output += stdout;
        }
        if (shown !== undefined)
          assert.ok(shows(output, shown), `docs/tutorials/${page}:${line} shows something else:\n${output}`);
        const [, right, share, own, team] = result.exec(output) ?? [];
        if (right !== undefined) results.push({ right: +right, share: +share!, own: +own!, team: +team! });
      }
      assert.equal(results.length, 1, "the page ends with one result");
      const [{ right, share, own, team }] = results as [(typeof results)[number]];
      assert.ok(right > 0, "the student answers questions that it has not seen");
      assert.ok(share < 100 && own < team, "with fewer tokens and dollars than its teacher");
    });
  });
}

/** Runs one command; asynchronously, because the model's server is in this process. */
function run(command: string, cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn("bash", ["-c", command], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
  return new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on("close", (code) => resolve({ code, ...said }));
  });
}
