import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { emitAndRead } from "../scripts/public-api.ts";

describe("the API report", () => {
  it("shows a changed field of a trajectory as a changed line", () => {
    const lines = (api: ReturnType<typeof emitAndRead>) => api.reports.get("index.txt")!.split("\n");
    const before = lines(emitAndRead());
    let edits = 0;
    const after = lines(
      emitAndRead((file, text) => {
        if (!file.endsWith("core/trajectory-schema.d.ts")) return text;
        return text.replace("notRecorded: z.ZodOptional<z.ZodString>", () => {
          edits++;
          return "notRecorded: z.ZodOptional<z.ZodNumber>";
        });
      }),
    );
    assert.equal(edits, 1);
    const changed = before.flatMap((line, at) => (line === after[at] ? [] : [[line, after[at]]]));
    const fields = changed.filter(([line]) => line!.length < 100); // types that show a whole trajectory change too
    assert.deepEqual(fields, [["  notRecorded?: string | undefined", "  notRecorded?: number | undefined"]]);
  });
});
