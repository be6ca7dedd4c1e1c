/**
 * Records on disk carry a version. Each type has one schema of its newest version and one function that turns the version
 * before into it; readers know only the newest. An unknown version stays as it is and the schema refuses it by name.
 */
import type { z } from "zod";
import { lazySchema } from "./lazy-schema.ts";

/** A schema that reads records of this and the previous version. */
export function recordReader<Shape extends z.ZodType>(
  shape: Shape,
  upgrade: (old: Record<string, unknown>) => Record<string, unknown>,
): z.ZodType<z.output<Shape>> {
  const newest = (value: unknown) =>
    (value as { version?: unknown } | null)?.version === 1 ? upgrade(value as Record<string, unknown>) : value;
  return lazySchema((z) => z.preprocess(newest, shape) as unknown as z.ZodType<z.output<Shape>>);
}
