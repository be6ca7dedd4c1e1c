import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { UsageError } from "../../core/errors.ts";
import { type Claim, claimFolder } from "./claim-folder.ts";
import { listWorkspace } from "./list-workspace.ts";
import { readManifest } from "./manifest.ts";

const root = await mkdtemp(join(tmpdir(), "coa-claim-"));
after(() => rm(root, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(root, `folder-${count++}`);
const claim: Claim = {
  kind: "training",
  configuration: { method: "sft", optimizer: { learningRate: 1e-3, betas: [0.9, 0.95] }, seed: 1 },
  inputs: [{ role: "dataset", path: "/a/dataset", fingerprint: "abc" }],
};

describe("claimFolder", () => {
  it("resumes the same work, wherever its inputs moved", async () => {
    const path = fresh();
    const first = await claimFolder(path, claim);
    assert.equal(first.resumed, false);
    await first.report({ state: "running", done: 3, total: 10, figures: { loss: 0.5 } });
    await first.release();
    const moved = { ...claim, inputs: [{ role: "dataset", path: "/b/dataset", fingerprint: "abc" }] };
    const second = await claimFolder(path, moved);
    assert.equal(second.resumed, true);
    assert.equal(second.manifest().progress.done, 3);
    await second.release();
  });

  it("is known as stopped when no living process holds it, whatever its manifest says", async () => {
    const path = fresh();
    const stateOf = async () => {
      const [entry] = await listWorkspace(path);
      return entry && "state" in entry ? entry.state : undefined;
    };
    const held = await claimFolder(path, claim);
    await held.report({ state: "running", done: 3, total: 10 });
    assert.equal(await stateOf(), "running");
    const lock = join(path, ".lock");
    const owner = await readFile(lock, "utf8");
    await writeFile(lock, JSON.stringify({ ...JSON.parse(owner), pid: 2 ** 22 + 1 }));
    assert.equal(await stateOf(), "stopped", "its process was killed");
    await writeFile(lock, owner);
    await held.release();
    assert.equal(await stateOf(), "stopped", "it ended without a word");
    await (await claimFolder(path, claim)).report({ state: "done", done: 10 });
    assert.equal(await stateOf(), "done");
  });

  it("refuses other work and names the one difference", async () => {
    const path = fresh();
    await (await claimFolder(path, claim)).release();
    const change = (configuration: object): Claim => ({
      ...claim,
      configuration: { ...claim.configuration, ...configuration },
    });
    const refused = async (other: Claim, words: RegExp) => {
      await assert.rejects(
        claimFolder(path, other),
        (error: Error) => error instanceof UsageError && words.test(error.message),
      );
    };
    await refused(change({ seed: 2 }), /seed was 1, is 2/);
    await refused(
      change({ optimizer: { learningRate: 2e-3, betas: [0.9, 0.95] } }),
      /optimizer\.learningRate was 0\.001, is 0\.002/,
    );
    await refused(change({ epochs: 3 }), /epochs was not set, is 3/);
    await refused(
      { ...claim, inputs: [{ role: "dataset", fingerprint: "xyz" }] },
      /its dataset differ .*abc.*, now .*xyz/,
    );
    await refused({ ...claim, kind: "evaluation" }, /it is a training, not a evaluation|it is a training/);
    const long = "x".repeat(500);
    const other = fresh();
    await (await claimFolder(other, change({ prompt: `${long}a` }))).release();
    await assert.rejects(claimFolder(other, change({ prompt: `${long}b` })), /prompt was/);
  });

  it("lets one process in at a time", async () => {
    const path = fresh();
    const held = await claimFolder(path, claim);
    await assert.rejects(claimFolder(path, claim), /held by process/);
    await held.release();
    await (await claimFolder(path, claim)).release();
  });

  it("refuses with never, starts anew with fresh, and deletes no files of others", async () => {
    const path = fresh();
    await (await claimFolder(path, claim)).release();
    await writeFile(join(path, "metrics.jsonl"), "{}\n");
    await assert.rejects(claimFolder(path, claim, { resume: "never" }), /holds a training already/);
    const anew = await claimFolder(path, { ...claim, configuration: { seed: 9 } }, { resume: "fresh" });
    assert.equal(anew.resumed, false);
    await anew.release();
    assert.deepEqual(await readdir(path), ["manifest.json"]);
    const foreign = fresh();
    await mkdir(foreign);
    await writeFile(join(foreign, "thesis.txt"), "mine");
    await assert.rejects(claimFolder(foreign, claim, { resume: "fresh" }), /thesis\.txt/);
    assert.equal(await readFile(join(foreign, "thesis.txt"), "utf8"), "mine");
  });

  it("says that a manifest is from another release", async () => {
    const path = fresh();
    await mkdir(path);
    await writeFile(join(path, "manifest.json"), '{"version":7}');
    await assert.rejects(claimFolder(path, claim), /version 7: it was written by another release/);
  });
});

describe("listWorkspace", () => {
  it("lists what stages left, oldest first, and what it can't read", async () => {
    const workspace = fresh();
    await (await claimFolder(join(workspace, "quickstart"), { kind: "quickstart", configuration: {} })).release();
    await (await claimFolder(join(workspace, "quickstart", "sft"), claim)).release();
    await mkdir(join(workspace, "broken"));
    await writeFile(join(workspace, "broken", "manifest.json"), "{");
    const listed = await listWorkspace(workspace);
    assert.deepEqual(
      listed.map((entry) => [entry.path, "manifest" in entry ? entry.manifest.kind : "problem"]),
      [
        ["broken", "problem"],
        ["quickstart", "quickstart"],
        [join("quickstart", "sft"), "training"],
      ],
    );
    assert.equal((await readManifest(join(workspace, "quickstart", "sft")))?.inputs[0]?.fingerprint, "abc");
    assert.deepEqual(await listWorkspace(join(workspace, "nothing")), []);
  });
});
