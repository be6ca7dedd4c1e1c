import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readAllJsonl } from "../../src/base/files/read-jsonl.ts";
import { type ChainRecord, chainRecordSchema } from "../../src/core/chain-record.ts";

describe("a batch of chains", () => {
  it("survives SIGKILL at any moment: nothing acknowledged is lost or done twice", async () => {
    const folder = await mkdtemp(join(tmpdir(), "coa-kill-"));
    try {
      const child = join(import.meta.dirname, "killable-chains.ts");
      let kills = 0;
      for (let round = 0; ; round++) {
        assert.ok(round < 60, "the batch never finishes");
        const worker = spawn(process.execPath, [child, folder], { stdio: ["ignore", "pipe", "inherit"] });
        let lines = 0;
        const killAfter = 3 + ((round * 7) % 23); // after so many tool calls, in the midst of the work
        worker.stdout.on("data", (data: Buffer) => {
          lines += data.toString().split("\n").length - 1;
          if (lines >= killAfter) worker.kill("SIGKILL");
        });
        const [code] = await new Promise<[number | null]>((resolve) => worker.on("close", (exit) => resolve([exit])));
        if (code === 0) break;
        kills++;
      }
      assert.ok(kills >= 2, `${kills} kills`);
      const records = await readAllJsonl<ChainRecord>(join(folder, "journal.jsonl"), chainRecordSchema, {
        onBad: () => {},
      });
      const ends = records.filter((record) => record.type === "end");
      assert.equal(new Set(ends.map((record) => record.trajectoryId)).size, 20);
      for (const end of ends) assert.equal(end.type === "end" && end.trajectory.answer, "done");
      const perCall = new Map<string, number>();
      for (const record of records) {
        if (record.type !== "tool" && record.type !== "turn") continue;
        const key = `${record.trajectoryId} ${record.type} ${record.call} ${record.type === "tool" ? record.index : ""}`;
        perCall.set(key, (perCall.get(key) ?? 0) + 1);
      }
      for (const [key, times] of perCall) assert.equal(times, 1, `${key} was recorded ${times} times`);
      // A call is repeated only if it was killed between doing and recording: at most those in flight at each kill.
      const executed = (await readFile(join(folder, "executed.log"), "utf8")).trim().split("\n");
      assert.equal(new Set(executed).size, 60);
      assert.ok(executed.length <= 60 + kills * 4, `${executed.length} executions, ${kills} kills`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
