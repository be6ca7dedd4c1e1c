/** Rounds of improvement: what each brought in, learned and changed, and whether its model was promoted. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { readJsonIfThere } from "../../base/files/read-json.ts";
import type { Reader } from "./reader.ts";

const pointSchema = z.object({
  escalated: z.number(),
  success: z.number(),
  billedTokens: z.number(),
  loss: z.number(),
});
const roundSchema = z.object({
  promote: z.boolean(),
  reasons: z.array(z.string()),
  sentence: z.string().optional(),
  exam: z.object({
    tasks: z.number(),
    live: z.number(),
    candidate: z.number(),
    loss: z.object({ value: z.number(), low: z.number(), high: z.number() }),
    power: z.number(),
  }),
  tokens: z.object({ live: z.number().nullable(), candidate: z.number().nullable(), old: z.number().nullable() }),
  /** Share of questions that go to the old system under the promise. */
  escalated: z.object({ live: z.number(), candidate: z.number() }),
  facts: z.object({
    number: z.number(),
    basis: z.string(),
    counts: z.record(z.string(), z.number()),
    learned: z.number(),
    guarded: z.number(),
    seconds: z.number(),
    auditTokens: z.number(),
  }),
  figures: z.object({ all: z.object({ escalated: z.number() }), curve: z.array(pointSchema) }).optional(),
});

/** What a round decided, and why. */
export type RoundView = z.infer<typeof roundSchema>;

/** `GET /api/rounds`: every round that was decided, the newest first. */
export const readRounds: Reader = async (_query, { home }): Promise<RoundView[]> => {
  const folder = join(home, "switch", "rounds");
  const read = async (name: string) =>
    roundSchema.safeParse(await readJsonIfThere(join(folder, name, "decision.json")));
  const rounds = await Promise.all(
    (await readdir(folder).catch(() => [])).map((name) => read(name).catch(() => undefined)),
  );
  return rounds.flatMap((one) => (one?.success ? [one.data] : [])).sort((a, b) => b.facts.number - a.facts.number);
};
