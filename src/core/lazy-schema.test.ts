import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { lazySchema, loadZod } from "./lazy-schema.ts";

describe("lazySchema", () => {
  const point = lazySchema((zod) => zod.object({ x: zod.number(), label: zod.string().optional() }));

  it("is built once, at its first use", () => {
    let built = 0;
    const counted = lazySchema((zod) => {
      built++;
      return zod.string();
    });
    const list = lazySchema((zod) => zod.array(counted));
    assert.equal(built, 0);
    assert.deepEqual(list.parse(["a", "b"]), ["a", "b"]);
    assert.equal(counted.safeParse(1).success, false);
    assert.equal(built, 1);
  });

  it("is a schema like any other: alone, inside others, extended, in a union, as JSON Schema", () => {
    assert.equal(loadZod(), z);
    assert.ok(point instanceof z.ZodType);
    assert.deepEqual(z.array(point).parse([{ x: 1 }]), [{ x: 1 }]);
    assert.deepEqual(point.extend({ y: z.number() }).parse({ x: 1, y: 2 }), { x: 1, y: 2 });
    assert.deepEqual(point.optional().parse(undefined), undefined);
    const kinds = z.discriminatedUnion("kind", [
      lazySchema((zod) => zod.object({ kind: zod.literal("a"), a: zod.number() })),
      z.object({ kind: z.literal("b") }),
    ]);
    assert.deepEqual(kinds.parse({ kind: "a", a: 1 }), { kind: "a", a: 1 });
    assert.throws(() => kinds.parse({ kind: "a" }), /expected number/);
    const eager = z.object({ x: z.number(), label: z.string().optional() });
    assert.deepEqual(z.toJSONSchema(point), z.toJSONSchema(eager));
  });

  it("keeps zod out of a program that only imports the package", () => {
    const [root, task] = ["../index.ts", "task.ts"].map((file) =>
      JSON.stringify(pathToFileURL(join(import.meta.dirname, file)).href),
    );
    const code = `const opened = [];
      const { registerHooks } = await import("node:module");
      registerHooks({ load: (url, context, next) => (opened.push(url), next(url, context)) });
      await import(${root});
      const { readTask } = await import(${task});
      const before = opened.filter((url) => url.includes("/zod/")).length;
      readTask({ version: 1, id: "1", question: "?", kind: "qa" });
      console.log(before, opened.filter((url) => url.includes("/zod/")).length > 0);`;
    const said = execFileSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
    assert.equal(said.trim(), "0 true");
  });
});
