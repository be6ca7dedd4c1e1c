/**
 * A value that a user can set: what kind it is, its bounds, its default and the sentence that help shows. A flag of one
 * command is such a value, and so is a setting of `coa.config.ts`; both are read and checked here, so that a command
 * gets a number where a number is meant.
 */
import { UsageError } from "../core/errors.ts";

/** The parts of a command's help, in their order. */
export const groups = ["input", "model", "tools", "limits", "output"] as const;
export type Group = (typeof groups)[number];

/** The short forms, each of one flag on every command. */
export const shortFlags: Readonly<Record<string, string>> = {
  help: "h",
  model: "m",
  profile: "p",
  temperature: "t",
  format: "f",
  quiet: "q",
  yes: "y",
};

interface About {
  /** The flag that sets it; without one it is set by `--set` and in the configuration. */
  flag?: string;
  valueName?: string;
  group?: Group;
  /** Configured settings that do not count when this one is given for a call: `--index` instead of configured documents. */
  replaces?: readonly string[];
  /** The setting without which this one has no effect: given for a call alone, it is refused. */
  needs?: `${string}.${string}`;
  /** Defaults of other settings, by the value of this one. */
  sets?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

interface Bounds {
  min?: number;
  max?: number;
  integer?: boolean;
}

/** A value that can be set, of the type `T` once it is read. */
export interface Setting<T = unknown> extends About, Bounds {
  readonly kind: "text" | "number" | "toggle" | "list" | "pairs";
  readonly describe: string;
  readonly choices?: readonly string[];
  readonly default?: T;
}

type Typed<T, A> = Setting<A extends { default: T } ? T : T | undefined>;

export function text<const A extends About & { default?: string }>(describe: string, about?: A): Typed<string, A> {
  return { kind: "text", describe, ...about } as Typed<string, A>;
}

/** One of a few words. */
export function choice<const C extends string, const A extends About & { default?: NoInfer<C> }>(
  choices: readonly C[],
  describe: string,
  about?: A,
): Typed<C, A> {
  return { kind: "text", describe, choices, ...about } as unknown as Typed<C, A>;
}

export function number<const A extends About & Bounds & { default?: number }>(
  describe: string,
  about?: A,
): Typed<number, A> {
  return { kind: "number", describe, ...about } as unknown as Typed<number, A>;
}

/** A whole number; `min` is 1 by default. */
export function whole<const A extends About & Bounds & { default?: number }>(
  describe: string,
  about?: A,
): Typed<number, A> {
  return { kind: "number", describe, integer: true, min: 1, ...about } as unknown as Typed<number, A>;
}

/** On or off; off by default. */
export function toggle(describe: string, about?: About & { default?: boolean }): Setting<boolean> {
  return { kind: "toggle", describe, default: false, ...about };
}

/** Several texts; as a flag it can be repeated. */
export function list(describe: string, about?: About & { default?: readonly string[] }): Setting<readonly string[]> {
  return { kind: "list", describe, default: [], ...about };
}

/** Texts by name: `--role writer=gpt-5`, or an object in the configuration. */
export function pairs(describe: string, about?: About): Setting<Readonly<Record<string, string>>> {
  return { kind: "pairs", describe, default: {}, ...about };
}

/** Reads what was typed or configured for a setting; `where` names the place in the error. */
export function readSetting(setting: Setting, raw: unknown, where: string): unknown {
  const refuse = (expected: string) =>
    new UsageError(`${where} takes ${expected}, not ${typeof raw === "string" ? `"${raw}"` : JSON.stringify(raw)}`);
  switch (setting.kind) {
    case "text":
      if (typeof raw !== "string") throw refuse("a text");
      if (setting.choices && !setting.choices.includes(raw)) throw refuse(anyOf(setting.choices));
      return raw;
    case "number":
      return readNumber(setting, raw, refuse);
    case "toggle":
      if (typeof raw === "boolean") return raw;
      if (raw === "true" || raw === "false") return raw === "true";
      throw refuse("true or false");
    case "list": {
      const items = typeof raw === "string" ? [raw] : raw;
      if (!Array.isArray(items) || items.some((item) => typeof item !== "string")) throw refuse("a list of texts");
      return items;
    }
    case "pairs":
      return readPairs(raw, refuse);
  }
}

type Refuse = (expected: string) => UsageError;

function readNumber({ min, max, integer }: Setting, raw: unknown, refuse: Refuse): number {
  const value = typeof raw === "string" && raw.trim() !== "" ? Number(raw) : raw;
  const good =
    typeof value === "number" &&
    !Number.isNaN(value) &&
    value >= (min ?? Number.NEGATIVE_INFINITY) &&
    value <= (max ?? Number.POSITIVE_INFINITY) &&
    (!integer || Number.isInteger(value));
  if (!good) throw refuse(`a ${integer ? "whole " : ""}number${boundsText(min, max)}`);
  return value;
}

function readPairs(raw: unknown, refuse: Refuse): Record<string, string> {
  const entries = Array.isArray(raw)
    ? raw.map((pair) => (/^([^=]+)=(.+)$/s.exec(String(pair)) ?? []).slice(1))
    : Object.entries((raw ?? {}) as object);
  if (typeof raw !== "object" || entries.some(([name, value]) => !name || typeof value !== "string"))
    throw refuse("name=value");
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Words as a sentence lists them: `a, b or c`. */
export function anyOf(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
}

/** Bounds in words: ` from 0 to 1`, ` of at least 1`, or nothing. */
function boundsText(min?: number, max?: number): string {
  const [low, high] = [Number.isFinite(min), Number.isFinite(max)];
  if (low && high) return ` from ${min} to ${max}`;
  return low ? ` of at least ${min}` : high ? ` of at most ${max}` : "";
}
