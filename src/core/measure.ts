/**
 * How an evaluation measured: which file of tasks, whose rules, which judge. Two figures compare only where these
 * agree.
 */
import { z } from "zod";
import { rightnesses } from "./task.ts";

const measureSchema = z.object({
  benchmark: z.string().optional(),
  file: z.string().optional(),
  fileHash: z.string().optional(),
  split: z.string().optional(),
  /** The figure's name; it says so where programs were graded on their public tests alone. */
  metric: z.string().optional(),
  scoring: z.string().optional(),
  /** The rules that decided, by name. */
  scorers: z.array(z.string()).default([]),
  /** How many answers are known to be right by what, where not all come from a file of tasks. */
  right: z.partialRecord(z.enum(rightnesses), z.number()).optional(),
  judges: z.array(z.object({ name: z.string(), promptHash: z.string(), model: z.string() })).default([]),
});

/** How something was measured. */
export type Measure = z.infer<typeof measureSchema>;
