/** A canary, a kill, an old system that is down and a rollback, while 20 clients ask; `npm run bench -- switch` has 200. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { storm } from "../bench/switch/storm.ts";

describe("switching over while clients ask", () => {
  it("gives no answer of a wrong version, and none silently by the model", async (t) => {
    const { phases, wrong, silent, canary } = await storm({ clients: 20, requests: 6 });
    t.diagnostic(JSON.stringify({ phases, canary }));
    assert.deepEqual([wrong, silent], [[], []]);
    for (const name of ["one version", "a canary", "killed"])
      assert.deepEqual([phases[name]?.answered, phases[name]?.refused], [120, 0], name);
    assert.ok(phases["rolled back"]!.answered >= 110, "most are answered by the model alone");
    assert.ok(canary.before > 5 && canary.after >= canary.before, "conversations keep their version over a kill");
    const down = phases["the old system is down"]!;
    assert.ok(down.refused > 0 && down.answered > 0 && down.refused + down.answered === 120);
  });
});
