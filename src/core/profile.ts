/**
 * A profile says which tags a chain may use, which may follow which, which call tools, and what must hold before a move.
 * It is data, and the single source of truth: the system prompt, the runtime's check, the decoding grammar, the
 * distillation filter and the format reward are all derived from it (`language/`). Being data, it travels by value: in a
 * trajectory, in a manifest, in a model's `coa.json`. Reading one never runs code.
 */
import { z } from "zod";

const bodyFormatSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("text") }),
  /** URLs joined with `|`. */
  z.object({ kind: z.literal("urls") }),
  /** A fenced program (```` ```py ````), optionally a second ```` ```sh ```` fence with its stdin; `fence: null` = bare code. */
  z.object({ kind: z.literal("code"), fence: z.string().nullable(), stdin: z.boolean() }),
  /** A JSON object in a ```` ```json ```` fence. */
  z.object({ kind: z.literal("json"), example: z.string() }),
  /** JSON that follows a schema (`plainSchema`), alone or in a fence: an answer that a caller asked for in this form. */
  z.object({ kind: z.literal("schema"), schema: z.record(z.string(), z.unknown()) }),
  /** One line per criterion: `information_conflict : Good`. */
  z.object({
    kind: z.literal("ratings"),
    criteria: z.array(z.string()).readonly(),
    values: z.array(z.string()).readonly(),
  }),
  /** A phrase and a number: `The score this time is:4`. */
  z.object({ kind: z.literal("score"), phrase: z.string(), min: z.number(), max: z.number() }),
]);

/** How the body of a tag is written. */
export type BodyFormat = z.infer<typeof bodyFormatSchema>;

const tagSpecSchema = z.object({
  name: z.string(),
  /** What this role does, as the model is told and as a reader sees it. */
  job: z.string(),
  body: bodyFormatSchema,
  /** Name of the tool that a closed tag of this name calls; absent for roles that only write. */
  tool: z.string().optional(),
  /** Whether a think must, may or must not stand right before it. */
  think: z.enum(["required", "optional", "forbidden"]),
  /** Tags that may follow it (for a tool tag: after its observation). Empty for the answer. */
  next: z.array(z.string()).readonly(),
  maxTimes: z.number().optional(),
  /** A sentence for the system prompt that only makes sense while this tag is there. */
  advice: z.string().optional(),
});

/** One role of a chain: what it does, how it is written, what may follow. */
export type TagSpec = z.infer<typeof tagSpecSchema>;

const gateSchema = z.discriminatedUnion("when", [
  /** Any criterion rated `worst` leaves only these tags. */
  z.object({
    tag: z.string(),
    when: z.literal("any-rating"),
    worst: z.string(),
    leaves: z.array(z.string()).readonly(),
  }),
  /** A score below `min` forbids `forbids`. */
  z.object({
    tag: z.string(),
    when: z.literal("score-below"),
    min: z.number(),
    forbids: z.array(z.string()).readonly(),
  }),
]);

/** A condition on a body that narrows what may come next. */
export type Gate = z.infer<typeof gateSchema>;

const observationStyleSchema = z.object({
  /** White space around observations: `paper` as the published models were trained, `compact` for models of our own. */
  layout: z.enum(["paper", "compact"]),
  /** Longest observation; the middle of a longer one is cut out. In characters, so that every tokenizer cuts alike. */
  maxCharacters: z.number().int().positive(),
});

/** How a tool's output is put before a model. Neutralising has no switch: it always happens. */
export type ObservationStyle = z.infer<typeof observationStyleSchema>;

export const profileSchema = z.object({
  name: z.string(),
  /** One sentence: what kind of work this chain does. */
  purpose: z.string(),
  /** Tags that a chain may open with (a think may come first where the tag asks for one). */
  start: z.array(z.string()).readonly(),
  tags: z.array(tagSpecSchema).readonly(),
  gates: z.array(gateSchema).readonly(),
  think: z.string(),
  observation: z.string(),
  answer: z.string(),
  /** The tag whose last body is used as the answer when limits end a chain early. */
  suggestedAnswer: z.string().optional(),
  /** Tool tags that may stand side by side in one step, before their observations. */
  maxParallelCalls: z.number(),
  /** Extra sentences for the system prompt. */
  advice: z.array(z.string()).readonly(),
  /** How observations are written for models of this profile. */
  style: observationStyleSchema,
});

/** The tags of a chain, their order, and the tools they call. */
export type Profile = z.infer<typeof profileSchema>;

const toolDescriptionSchema = z.object({
  name: z.string(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()),
});

/** A tool as a model is told of it, without the code that runs it. */
export type ToolDescription = z.infer<typeof toolDescriptionSchema>;

export const chainLanguageSchema = z.object({
  profile: profileSchema,
  tools: z.array(toolDescriptionSchema).readonly(),
});

/** All that decides how a chain is written, by value: a record that carries it can be read without anything else. */
export type ChainLanguage = z.infer<typeof chainLanguageSchema>;
