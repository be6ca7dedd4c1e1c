/** Further ways to practise: trees, groups in flight, a team behind a server. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { coa } from "../../../test/fixtures/run-coa.ts";
import { servedLabTeam } from "../../../test/fixtures/served-lab-team.ts";
import { aroundTraining, at, metrics, train } from "../../../test/fixtures/train-shipped.ts";
import { readAllJsonl } from "../../base/files/read-jsonl.ts";
import type { Rollout } from "../../train/run-rollout.ts";

aroundTraining();

describe("coa train rl", () => {
  it("continues a rollout from its first fault, and compares what follows", async () => {
    const faults = ["--tool-faults", "web_search:empty=0.9", "--set", "train.credit=branch-at-fault"];
    const { stderr } = await train("rl", "trees", ...faults);
    const rollouts = await readAllJsonl<Rollout>(join(at("trees"), "rollouts.jsonl"));
    const trunk = rollouts.find(
      ({ sample, trajectory }) => sample === 0 && trajectory.segments.some(({ call }) => call?.fault),
    );
    const branch = rollouts.find(
      ({ round, slot, sample }) => sample === 1 && round === trunk?.round && slot === trunk.slot,
    );
    const at0 = branch?.trajectory.branch ?? 0;
    assert.ok(at0 > 0, stderr);
    const tokens = ({ trajectory }: Rollout) => trajectory.segments.slice(0, at0).map((segment) => segment.tokens);
    assert.deepEqual(tokens(branch!), tokens(trunk!));
    assert.match(trunk!.trajectory.segments[at0 - 1]!.text, /no results/);
    const line = await metrics("trees");
    assert.ok((line["ratioGap"] ?? 0) < 1e-3, JSON.stringify(line));
    await assert.rejects(train("rl", "x", ...faults, "--set", "train.maxStaleness=1"), /leave maxStaleness out/);
  });

  it("trains on groups in flight, and writes their rollouts as JSONL", async () => {
    const inFlight = [
      "--set",
      "train.maxStaleness=1",
      "--set",
      "train.inFlight=2",
      "--steps",
      "2",
      "--groups",
      "1",
      "--samples",
      "4",
    ];
    const { code, stderr } = await train("rl", "pool", "--tool-faults", "web_search:empty=0.8", ...inFlight);
    assert.equal(code, 0, stderr);
    const line = await metrics("pool");
    assert.ok((line["requeued"] ?? -1) >= 0 && (line["staleness"] ?? 0) <= 1, JSON.stringify(line));
    const file = join(at("pool"), "exported.jsonl");
    const exported = await coa("show", at("pool"), "--out", file, "--json");
    assert.equal(exported.code, 0, exported.stderr);
    const rollouts = await readAllJsonl<Rollout>(file);
    assert.equal(JSON.parse(exported.stdout).records, rollouts.length);
    for (const { trajectory } of rollouts)
      for (const { by, policyVersion } of trajectory.segments)
        if (by === "model") assert.ok(policyVersion! >= trajectory.policyVersion!);
    await assert.rejects(
      train("rl", "x", "--set", "train.maxStaleness=1", "--set", "train.inFlight=1"),
      /a step trains on 2 groups/,
    );
    await assert.rejects(coa("show", at("pool"), "--out", file), /exists already/);
  });
});

describe("coa train opd", () => {
  it("lets a team behind a server correct failed chains", async () => {
    const team = await servedLabTeam();
    try {
      const asked = ["--teacher-team", "--base-url", team.url, "--team-model", "manager", ...team.flags];
      const { code, stderr } = await train("opd", "llm", ...asked, "--tool-faults", "crawl_page:timeout=0.6");
      assert.equal(code, 0, stderr);
      const line = await metrics("llm");
      assert.ok(Number(line["asked"]) > 0 && Number(line["corrected"]) > 0, JSON.stringify(line));
    } finally {
      await team.close();
    }
  });
});
