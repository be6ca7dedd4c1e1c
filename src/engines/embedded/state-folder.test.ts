import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { modelConfig } from "./model/config.ts";
import { initialParameters } from "./model/parameters.ts";
import { openOptimizer } from "./optim/optimizer.ts";
import { openRuntime } from "./runtime/runtime.ts";
import { loadStateFolder } from "./state-folder.ts";

const config = modelConfig({ vocabularySize: 200, hiddenSize: 64, layers: 2, heads: 2 });

/** Saves for ever: in state i every weight is i, and so is the number of steps. */
const saver = (folder: string) => `
  const from = (path) => import(new URL(path, ${JSON.stringify(pathToFileURL(`${import.meta.dirname}/`).href)}).href);
  const { saveStateFolder } = await from("state-folder.ts");
  const { initialParameters } = await from("model/parameters.ts");
  const config = ${JSON.stringify(config)};
  const parameters = initialParameters(config, 1);
  for (let i = 1; ; i++) {
    for (const { data } of parameters.values()) data.fill(i);
    const optimizer = { name: "adamw", state: () => ({ steps: i, tensors: new Map([["first:model.norm.weight", { shape: [64], data: new Float32Array(64) }], ["second:model.norm.weight", { shape: [64], data: new Float32Array(64) }]]) }) };
    console.log("begin", i);
    await saveStateFolder(${JSON.stringify(folder)}, { config, parameters, optimizer, sampleSeed: i });
    console.log("end", i);
  }`;

describe("saveStateFolder", () => {
  it("leaves a whole state behind when the process is killed while saving", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-state-"));
    const state = join(folder, "state");
    const runtime = openRuntime({ threads: 1 });
    for (const killAt of [2, 3, 5, 8]) {
      const child = spawn(process.execPath, ["--input-type=module-typescript", "-e", saver(state)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let ended = 0;
      for await (const line of createInterface({ input: child.stdout })) {
        const [word, number] = line.split(" ");
        if (word === "end") ended = Number(number);
        if (word === "begin" && Number(number) === killAt) child.kill("SIGKILL");
      }
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      assert.ok(ended >= killAt - 1);
      const parameters = initialParameters(config, 9);
      const optimizer = openOptimizer("adamw", parameters, runtime);
      const { sampleSeed } = await loadStateFolder(state, { config, parameters, optimizer, sampleSeed: 0 });
      assert.ok(sampleSeed >= ended, `state ${ended} was saved, state ${sampleSeed} was found`);
      assert.equal(optimizer.state().steps, sampleSeed);
      for (const [name, { data }] of parameters)
        assert.ok(
          data.every((value) => value === sampleSeed),
          name,
        );
    }
    await rm(folder, { recursive: true, force: true });
  });
});
