/** A recipe of tinker-cookbook as it is, against our own training server, where a Python that has it is named. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";
import { shippedModels } from "../../src/cli/find-model.ts";
import { loopbackTrainer } from "./loopback-trainer.ts";

const python = process.env["COA_TEST_TINKER_PYTHON"];

it("tinker-cookbook's supervised recipe trains and saves", {
  skip: python ? false : "set COA_TEST_TINKER_PYTHON to a Python with tinker and tinker-cookbook",
}, async (t) => {
  const home = await mkdtemp(join(tmpdir(), "coa-cookbook-"));
  const { folder } = shippedModels()[0]!;
  const server = await loopbackTrainer({ folder, threads: 1 }, { vocabularySize: 768, maxContext: 1024 });
  try {
    const rows = Array.from({ length: 8 }, (_, at) => ({
      messages: [
        { role: "user", content: `What is ${at} plus ${at}?` },
        { role: "assistant", content: `It is ${2 * at}.` },
      ],
    }));
    const file = join(home, "rows.jsonl");
    await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
    const script = join(import.meta.dirname, "tinker-cookbook.py");
    const args = [script, server.origin, "coa/test", folder, file, join(home, "logs")];
    const { stdout } = await promisify(execFile)(python!, args, { maxBuffer: 2 ** 26 });
    const { losses, checkpoints } = JSON.parse(stdout.trim().split("\n").at(-1)!) as {
      losses: number[];
      checkpoints: number;
    };
    t.diagnostic(`losses ${losses.map((loss) => loss.toFixed(3)).join(", ")}`);
    assert.equal(losses.length, 8);
    assert.ok(losses.at(-1)! < losses[0]!, `${losses}`);
    assert.ok(checkpoints > 1);
  } finally {
    await server.close();
    await rm(home, { recursive: true, force: true });
  }
});
