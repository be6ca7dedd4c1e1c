/**
 * Schemas that are built when they are first used, and zod with them: loading zod takes as long as all the rest of the root
 * entry, and a program that runs chains may never read a record. A lazy schema is used like any other, in other schemas too.
 */
import type { z } from "zod";

type Zod = typeof z;

/** A zod schema that is built at its first use. */
export function lazySchema<Schema extends z.ZodType>(build: (z: Zod) => Schema): Schema {
  let built: Schema | undefined;
  const schema = (): Schema => {
    built ??= build(loadZod());
    return built;
  };
  return new Proxy({} as Schema, {
    get: (_, key) => Reflect.get(schema(), key),
    has: (_, key) => Reflect.has(schema(), key),
    getPrototypeOf: () => Reflect.getPrototypeOf(schema()),
  });
}

let zod: Zod | undefined;

/** Loads zod without waiting. It is the module that `import "zod"` gives, so the package's other files share it. */
export function loadZod(): Zod {
  if (!zod) {
    const { createRequire } = process.getBuiltinModule("node:module");
    const { fileURLToPath } = process.getBuiltinModule("node:url");
    zod = (createRequire(import.meta.url)(fileURLToPath(import.meta.resolve("zod"))) as { z: Zod }).z;
  }
  return zod;
}
