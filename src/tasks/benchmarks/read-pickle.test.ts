import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { defineTask } from "../../core/task.ts";
import { withHiddenTests } from "./hidden-tests.ts";
import { PickledObject, readPickle } from "./read-pickle.ts";

/** Problems as the reference's script writes them (pickle.dump of its dataclass), by protocol. */
const written = {
  stdin: [
    "gAJjbGNiX3J1bm5lci5iZW5jaG1hcmtzLmNvZGVfZ2VuZXJhdGlvbgpDb2RlR2VuZXJhdGlvblByb2JsZW0KcQApgXEBfXECKFgOAAAAcXVlc3Rpb25fdGl0bGVxA1gGAAAARG91YmxlcQRYEAAAAHF1ZXN0aW9uX2NvbnRlbnRxBVgKAAAARG91YmxlIGl0LnEGWAgAAABwbGF0Zm9ybXEHY2xjYl9ydW5uZXIuYmVuY2htYXJrcy5jb2RlX2dlbmVyYXRpb24KUGxhdGZvcm0KcQhYBwAAAGF0Y29kZXJxCYVxClJxC1gLAAAAcXVlc3Rpb25faWRxDFgIAAAAYWJjMDAxX2FxDVgKAAAAY29udGVzdF9pZHEOWAYAAABhYmMwMDFxD1gMAAAAY29udGVzdF9kYXRlcRBjZGF0ZXRpbWUKZGF0ZXRpbWUKcRFjX2NvZGVjcwplbmNvZGUKcRJYCwAAAAfDqAgKAAAAAAAAcRNYBgAAAGxhdGluMXEUhnEVUnEWhXEXUnEYWAwAAABzdGFydGVyX2NvZGVxGVgAAAAAcRpYCgAAAGRpZmZpY3VsdHlxG2NsY2JfcnVubmVyLmJlbmNobWFya3MuY29kZV9nZW5lcmF0aW9uCkRpZmZpY3VsdHkKcRxYBAAAAGVhc3lxHYVxHlJxH1gRAAAAcHVibGljX3Rlc3RfY2FzZXNxIF1xIWNsY2JfcnVubmVyLmJlbmNobWFya3MuY29kZV9nZW5lcmF0aW9uClRlc3QKcSIpgXEjfXEkKFgFAAAAaW5wdXRxJVgCAAAAMQpxJlgGAAAAb3V0cHV0cSdYAgAAADIKcShYCAAAAHRlc3R0eXBlcSljbGNiX3J1bm5lci5iZW5jaG1hcmtzLmNvZGVfZ2VuZXJhdGlvbgpUZXN0VHlwZQpxKlgFAAAAc3RkaW5xK4VxLFJxLXViYVgSAAAAcHJpdmF0ZV90ZXN0X2Nhc2VzcS5dcS8oaCIpgXEwfXExKGglWAIAAAA0CnEyaCdYAgAAADgKcTNoKWgtdWJoIimBcTR9cTUoaCVYAwAAAMOpCnE2aCdYBQAAAMOpw6kKcTdoKWgtdWJlWAgAAABtZXRhZGF0YXE4fXE5dWIu",
    "gASVHAIAAAAAAACMJWxjYl9ydW5uZXIuYmVuY2htYXJrcy5jb2RlX2dlbmVyYXRpb26UjBVDb2RlR2VuZXJhdGlvblByb2JsZW2Uk5QpgZR9lCiMDnF1ZXN0aW9uX3RpdGxllIwGRG91YmxllIwQcXVlc3Rpb25fY29udGVudJSMCkRvdWJsZSBpdC6UjAhwbGF0Zm9ybZRoAIwIUGxhdGZvcm2Uk5SMB2F0Y29kZXKUhZRSlIwLcXVlc3Rpb25faWSUjAhhYmMwMDFfYZSMCmNvbnRlc3RfaWSUjAZhYmMwMDGUjAxjb250ZXN0X2RhdGWUjAhkYXRldGltZZSMCGRhdGV0aW1llJOUQwoH6AgKAAAAAAAAlIWUUpSMDHN0YXJ0ZXJfY29kZZSMAJSMCmRpZmZpY3VsdHmUaACMCkRpZmZpY3VsdHmUk5SMBGVhc3mUhZRSlIwRcHVibGljX3Rlc3RfY2FzZXOUXZRoAIwEVGVzdJSTlCmBlH2UKIwFaW5wdXSUjAIxCpSMBm91dHB1dJSMAjIKlIwIdGVzdHR5cGWUaACMCFRlc3RUeXBllJOUjAVzdGRpbpSFlFKUdWJhjBJwcml2YXRlX3Rlc3RfY2FzZXOUXZQoaCUpgZR9lChoKIwCNAqUaCqMAjgKlGgsaDF1YmglKYGUfZQoaCiMA8OpCpRoKowFw6nDqQqUaCxoMXViZYwIbWV0YWRhdGGUfZR1Yi4=",
  ],
  call: [
    "gAJjbGNiX3J1bm5lci5iZW5jaG1hcmtzLmNvZGVfZ2VuZXJhdGlvbgpDb2RlR2VuZXJhdGlvblByb2JsZW0KcQApgXEBfXECKFgOAAAAcXVlc3Rpb25fdGl0bGVxA1gDAAAAQWRkcQRYEAAAAHF1ZXN0aW9uX2NvbnRlbnRxBVgEAAAAQWRkLnEGWAgAAABwbGF0Zm9ybXEHY2xjYl9ydW5uZXIuYmVuY2htYXJrcy5jb2RlX2dlbmVyYXRpb24KUGxhdGZvcm0KcQhYCAAAAGxlZXRjb2RlcQmFcQpScQtYCwAAAHF1ZXN0aW9uX2lkcQxYBAAAADMwMDFxDVgKAAAAY29udGVzdF9pZHEOWAEAAAB3cQ9YDAAAAGNvbnRlc3RfZGF0ZXEQY2RhdGV0aW1lCmRhdGV0aW1lCnERY19jb2RlY3MKZW5jb2RlCnESWAsAAAAHw6gJAQAAAAAAAHETWAYAAABsYXRpbjFxFIZxFVJxFoVxF1JxGFgMAAAAc3RhcnRlcl9jb2RlcRlYDwAAAGNsYXNzIFNvbHV0aW9uOnEaWAoAAABkaWZmaWN1bHR5cRtjbGNiX3J1bm5lci5iZW5jaG1hcmtzLmNvZGVfZ2VuZXJhdGlvbgpEaWZmaWN1bHR5CnEcWAQAAABlYXN5cR2FcR5ScR9YEQAAAHB1YmxpY190ZXN0X2Nhc2VzcSBdcSFjbGNiX3J1bm5lci5iZW5jaG1hcmtzLmNvZGVfZ2VuZXJhdGlvbgpUZXN0CnEiKYFxI31xJChYBQAAAGlucHV0cSVYAwAAADEKMnEmWAYAAABvdXRwdXRxJ1gBAAAAM3EoWAgAAAB0ZXN0dHlwZXEpY2xjYl9ydW5uZXIuYmVuY2htYXJrcy5jb2RlX2dlbmVyYXRpb24KVGVzdFR5cGUKcSpYCgAAAGZ1bmN0aW9uYWxxK4VxLFJxLXViYVgSAAAAcHJpdmF0ZV90ZXN0X2Nhc2VzcS5dcS9oIimBcTB9cTEoaCVYBgAAAC01ClsxXXEyaCdYAQAAADBxM2gpaC11YmFYCAAAAG1ldGFkYXRhcTR9cTVYCQAAAGZ1bmNfbmFtZXE2WAMAAABhZGRxN3N1Yi4=",
    "gASVFAIAAAAAAACMJWxjYl9ydW5uZXIuYmVuY2htYXJrcy5jb2RlX2dlbmVyYXRpb26UjBVDb2RlR2VuZXJhdGlvblByb2JsZW2Uk5QpgZR9lCiMDnF1ZXN0aW9uX3RpdGxllIwDQWRklIwQcXVlc3Rpb25fY29udGVudJSMBEFkZC6UjAhwbGF0Zm9ybZRoAIwIUGxhdGZvcm2Uk5SMCGxlZXRjb2RllIWUUpSMC3F1ZXN0aW9uX2lklIwEMzAwMZSMCmNvbnRlc3RfaWSUjAF3lIwMY29udGVzdF9kYXRllIwIZGF0ZXRpbWWUjAhkYXRldGltZZSTlEMKB+gJAQAAAAAAAJSFlFKUjAxzdGFydGVyX2NvZGWUjA9jbGFzcyBTb2x1dGlvbjqUjApkaWZmaWN1bHR5lGgAjApEaWZmaWN1bHR5lJOUjARlYXN5lIWUUpSMEXB1YmxpY190ZXN0X2Nhc2VzlF2UaACMBFRlc3SUk5QpgZR9lCiMBWlucHV0lIwDMQoylIwGb3V0cHV0lIwBM5SMCHRlc3R0eXBllGgAjAhUZXN0VHlwZZSTlIwKZnVuY3Rpb25hbJSFlFKUdWJhjBJwcml2YXRlX3Rlc3RfY2FzZXOUXZRoJSmBlH2UKGgojAYtNQpbMV2UaCqMATCUaCxoMXViYYwIbWV0YWRhdGGUfZSMCWZ1bmNfbmFtZZSMA2FkZJRzdWIu",
  ],
  /** `os.system("touch /tmp/coa-pickle-ran")` where a pickle is run. */
  hostile: "gASVNAAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjBl0b3VjaCAvdG1wL2NvYS1waWNrbGUtcmFulIWUUpQu",
};
const bytes = (text: string) => Buffer.from(text, "base64");

describe("readPickle", () => {
  it("runs nothing that a pickle names", () => {
    const value = readPickle(bytes(written.hostile));
    assert.ok(value instanceof PickledObject);
    assert.deepEqual([value.name, value.args], ["posix.system", ["touch /tmp/coa-pickle-ran"]]);
    assert.equal(existsSync("/tmp/coa-pickle-ran"), false);
  });

  it("refuses what is torn, and operations that data does not need", () => {
    const whole = bytes(written.stdin[1]!);
    for (let length = 0; length < whole.length; length += 7)
      assert.throws(() => readPickle(whole.subarray(0, length)), /not a pickle that can be read as data/);
    assert.throws(() => readPickle(Buffer.from("\x80\x04P1\n.", "latin1")), /operation 0x50/);
  });
});

describe("hidden tests in pickles", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "pickles-"));
  });
  after(() => rm(folder, { recursive: true }));
  const task = (questionId: string) =>
    defineTask({
      id: questionId,
      question: "?",
      kind: "code",
      tests: { inputs: ["1\n"], outputs: ["2\n"], publicOnly: true },
      questionId,
    });

  it("are joined from the reference's folder of one file for each question, whatever the protocol", async () => {
    for (const protocol of [0, 1]) {
      await writeFile(join(folder, "abc001_a.pkl"), bytes(written.stdin[protocol]!));
      await writeFile(join(folder, "3001.pkl"), bytes(written.call[protocol]!));
      await writeFile(join(folder, "unwanted.pkl"), "not a pickle at all");
      const [stdin, call] = await withHiddenTests([task("abc001_a"), task("3001")], folder);
      assert.deepEqual(stdin!.tests, { inputs: ["1\n", "4\n", "é\n"], outputs: ["2\n", "8\n", "éé\n"] });
      assert.deepEqual(call!.tests, {
        functionName: "add",
        inputs: ["[1,2]", "[-5,[1]]"],
        outputs: ["3", "0"],
        starterCode: "class Solution:",
      });
    }
    await assert.rejects(
      withHiddenTests([task("abc001_a"), task("gone")], folder),
      /no tests for 1 of 2 questions, for example gone/,
    );
  });
});
