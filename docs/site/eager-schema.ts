/** `core/lazy-schema.ts` where nothing can be loaded later: zod is part of the script. */
import { z } from "zod";

export const loadZod = () => z;
export { lazySchema };

function lazySchema<Schema extends z.ZodType>(build: (zod: typeof z) => Schema): Schema {
  let built: Schema | undefined;
  const schema = () => (built ??= build(z));
  return new Proxy({} as Schema, {
    get: (_, key) => Reflect.get(schema(), key),
    has: (_, key) => Reflect.has(schema(), key),
    getPrototypeOf: () => Reflect.getPrototypeOf(schema()),
  });
}
