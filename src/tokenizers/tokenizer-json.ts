/**
 * The parts of Hugging Face's `tokenizer.json` and `tokenizer_config.json` that we read or write. Everything else in the
 * files is kept as it is, so that loading and saving loses nothing.
 */
import { z } from "zod";
import { CoaError } from "../core/errors.ts";

/** Larger than any vocabulary: tables are made by id. */
const largestId = 2 ** 24;

const addedTokenSchema = z.looseObject({
  id: z.int().min(0).max(largestId),
  content: z.string().min(1),
  lstrip: z.boolean().optional(),
  rstrip: z.boolean().optional(),
  special: z.boolean().optional(),
});
export type AddedTokenJson = z.infer<typeof addedTokenSchema>;

const componentSchema: z.ZodType<ComponentJson> = z.looseObject({ type: z.string() });

/** A normalizer, pre-tokenizer or decoder: a type and whatever that type needs. */
export interface ComponentJson {
  type: string;
  [key: string]: unknown;
}

export const tokenizerJsonSchema = z.looseObject({
  added_tokens: z.array(addedTokenSchema).default([]),
  normalizer: componentSchema.nullish(),
  pre_tokenizer: componentSchema.nullish(),
  post_processor: componentSchema.nullish(),
  decoder: componentSchema.nullish(),
  model: z.looseObject({ type: z.string().optional(), vocab: z.unknown(), merges: z.unknown().optional() }),
});
export type TokenizerJson = z.infer<typeof tokenizerJsonSchema>;

/** In published files a token is a string, or an object that contains one. */
const tokenText = z.union([z.string(), z.looseObject({ content: z.string() })]).nullish();

export const tokenizerConfigSchema = z.looseObject({
  /** One template, or several with names, of which `default` is the usual one. */
  chat_template: z.union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))]).nullish(),
  bos_token: tokenText,
  eos_token: tokenText,
  pad_token: tokenText,
  unk_token: tokenText,
});
export type TokenizerConfig = z.infer<typeof tokenizerConfigSchema>;

/** The string of a token field, however it was written. */
export function tokenString(token: z.infer<typeof tokenText>): string | undefined {
  return typeof token === "string" ? token : token?.content;
}

/** The usual chat template of a configuration. */
export function defaultTemplate(config: TokenizerConfig): string | undefined {
  const template = config.chat_template;
  if (typeof template === "string") return template;
  return (template?.find((entry) => entry.name === "default") ?? template?.[0])?.template;
}

/** Components of a (possibly nested) sequence, in order. */
export function flattenComponent(component: ComponentJson | null | undefined): ComponentJson[] {
  if (!component) return [];
  if (component.type !== "Sequence") return [component];
  const { pretokenizers, normalizers, decoders } = component;
  return ([pretokenizers, normalizers, decoders] as ComponentJson[][]).flatMap((parts) => (parts ?? []).flatMap(flattenComponent)); // biome-ignore format: one list
}

/** What no tokenizer needs and the library does not refuse: ids that are no places of a table, and patterns that it prints. */
export function checkTokenizerJson({ normalizer, pre_tokenizer, decoder, model }: TokenizerJson): void {
  const ids = Array.isArray(model.vocab) ? [] : Object.values(model.vocab ?? {});
  if (ids.some((id) => !Number.isInteger(id) || id < 0 || id > largestId))
    throw new CoaError("format", "its vocabulary has an id that is no place of a table");
  const splits = flattenComponent(pre_tokenizer);
  // Each further step into bytes would double the text.
  if (splits.filter(({ type }) => type === "ByteLevel").length > 1 || splits.length > 16)
    throw new CoaError("format", "its pre-tokenizer has more steps than any tokenizer needs");
  for (const { pattern } of [...splits, ...[normalizer, decoder].flatMap(flattenComponent)])
    if (pattern !== undefined && !patternSchema.safeParse(pattern).success)
      throw new CoaError("format", "it has a pattern that is neither an expression nor a text");
}

const patternSchema = z.union([z.looseObject({ Regex: z.string() }), z.looseObject({ String: z.string() })]);
