import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CoaError, hintAsFlag, isAbort, StoppedError, UsageError } from "./errors.ts";

describe("CoaError", () => {
  it("words its hint as an option, and a command line words it as a flag", () => {
    const hint = { option: "skipBad", value: "yes", purpose: "to read on" };
    const error = new UsageError("line 3 is not JSON", { hint });
    assert.equal(error.message, 'line 3 is not JSON. Set `skipBad: "yes"` to read on.');
    assert.equal(`${error.problem}. ${hintAsFlag(error.hint!)}`, "line 3 is not JSON. Pass --skip-bad yes to read on.");
  });

  it("has a code to branch on", () => {
    assert.equal(new CoaError("storage", "full").code, "storage");
    assert.equal(new CoaError("storage", "full", { code: "no-space" }).code, "no-space");
  });

  it("is an abort where work was stopped, and never the failure of an engine", () => {
    const stopped = new StoppedError("stopped after step 3", { hint: { option: "resume" } });
    assert.ok(isAbort(stopped) && stopped instanceof CoaError);
    assert.equal(stopped.boundary, "aborted");
    assert.ok(!isAbort(new CoaError("engine", "broke")));
  });
});
