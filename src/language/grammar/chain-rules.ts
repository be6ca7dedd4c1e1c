/**
 * The profile's language from the current place of a chain up to the end of the model's turn: a closed tool call or the
 * answer. States of the profile's machine become rules; gates are inside, because a body that closes a gate (a Poor
 * rating, a low score) leads to another rule than one that does not.
 */
import {
  advance,
  allowedNext,
  type BodyFormat,
  type ChainState,
  type Profile,
  type TagSpec,
  tagNames,
  tagSpec,
} from "../profile.ts";
import { codeText, freeText, freeTextRest, jsonText, spaces, urlList } from "./body-text.ts";
import { choice, type Expression, literal, marker, optional, type RuleSet, rule, sequence } from "./rules.ts";
import { schemaText } from "./schema-text.ts";

export interface ChainRulesOptions {
  /** Only the answer may be written (the budget is nearly used up). */
  answerOnly?: boolean;
  /** The turn continues inside this tag, whose body has begun. Only for bodies of free text. */
  inside?: string;
}

const end = literal("");
const gap = optional(choice(literal("\n"), literal("\n\n")));

/** The rules for the next turn from this state. */
export function chainRules(profile: Profile, state: ChainState, options: ChainRulesOptions = {}): RuleSet {
  const rules = new Map<string, Expression>();
  const names = new Map<string, string>();
  const queue: ChainState[] = [];

  /** Bodies are rules of their own, so that the grammar stays short however many states share them. */
  function body(name: string, make: () => Expression): Expression {
    if (!rules.has(name)) rules.set(name, make());
    return rule(name);
  }
  const text = () => body("text", freeText);

  function stateRule(next: ChainState): Expression {
    const key = stateKey(profile, next);
    let name = names.get(key);
    if (name === undefined) {
      name = `state${names.size}`;
      names.set(key, name);
      queue.push(next);
    }
    return rule(name);
  }

  /** What comes after a tag that leads to this state. */
  function after(next: ChainState): Expression {
    if (next.ended || (next.openCalls > 0 && next.calls >= profile.maxParallelCalls)) return end;
    return sequence(gap, stateRule(next));
  }

  function bodiesOf(spec: TagSpec): { form: Expression; example: string }[] {
    const rulesOf = gatedForms(profile, spec);
    if (rulesOf) {
      return rulesOf.map(({ form, example }, index) => ({
        form: body(`${ruleName(spec.name)}${index}`, () => form),
        example,
      }));
    }
    const form = spec.body.kind === "text" ? text() : body(ruleName(spec.name), () => plainForm(profile, spec.body));
    return [{ form, example: "x" }];
  }

  function moves(from: ChainState): Expression {
    const ways: Expression[] = [];
    for (const name of allowedNext(profile, from)) {
      if (name === profile.observation) ways.push(end);
      else if (name === profile.think) {
        ways.push(tagged(name, text(), after(advance(profile, from, { tag: name, text: "" }))));
      } else {
        for (const { form, example } of bodiesOf(tagSpec(profile, name)!)) {
          const next = advance(profile, from, { tag: name, text: example });
          const deadEnd = !next.ended && next.openCalls === 0 && allowedNext(profile, next).length === 0;
          if (!deadEnd) ways.push(tagged(name, form, after(next)));
        }
      }
    }
    return ways.length === 0 ? end : choice(...ways);
  }

  if (options.inside !== undefined) {
    const next = options.answerOnly ? end : after(advance(profile, state, { tag: options.inside, text: "x" }));
    rules.set("root", sequence(body("rest", freeTextRest), marker(`</${options.inside}>`), next));
  } else if (options.answerOnly)
    rules.set("root", sequence(gap, tagged(profile.answer, bodiesOf(tagSpec(profile, profile.answer)!)[0]!.form, end))); // biome-ignore format: one rule
  else rules.set("root", sequence(gap, stateRule(state)));
  for (const next of queue) rules.set(names.get(stateKey(profile, next))!, moves(next));
  return { start: "root", rules };
}

function tagged(tag: string, form: Expression, after: Expression): Expression {
  return sequence(marker(`<${tag}>`), form, marker(`</${tag}>`), after);
}

/** Letters only: the one alphabet that all dialects allow in rule names. */
function ruleName(tag: string): string {
  return `${tag.replaceAll("_", "")}body`;
}

/** States that allow the same future share one rule. Counts matter only for tags that have a limit. */
export function stateKey(profile: Profile, state: ChainState): string {
  const counts = profile.tags
    .filter((tag) => tag.maxTimes !== undefined)
    .map((tag) => Math.min(state.counts[tag.name] ?? 0, tag.maxTimes!));
  const gate = state.gate ? state.gate.leaves.join(",") : "";
  return [state.last, state.thought, state.calls, state.openCalls, gate, counts, state.ended].join("|");
}

/** The forms of a body that gates look at, apart by what they mean, each with an example of that meaning. */
function gatedForms(profile: Profile, spec: TagSpec): { form: Expression; example: string }[] | undefined {
  const gates = profile.gates.filter((gate) => gate.tag === spec.name);
  const format = spec.body;
  if (format.kind === "ratings") {
    const worst = gates.find((gate) => gate.when === "any-rating")?.worst;
    const others = format.values.filter((value) => value !== worst);
    const fine = { form: ratings(format, () => others), example: ratingsExample(format, others[0] ?? "") };
    if (worst === undefined) return [fine];
    // The first criterion with the worst rating tells the alternatives apart, so that no text has two readings.
    const failing = format.criteria.map((_, at) =>
      ratings(format, (index) => (index < at ? others : index === at ? [worst] : format.values)),
    );
    return [fine, { form: choice(...failing), example: ratingsExample(format, worst) }];
  }
  if (format.kind === "score") {
    const scores = Array.from({ length: format.max - format.min + 1 }, (_, index) => format.min + index);
    const least = gates.find((gate) => gate.when === "score-below")?.min ?? format.min;
    return [scores.filter((score) => score < least), scores.filter((score) => score >= least)]
      .filter((group) => group.length > 0)
      .map((group) => {
        const number = choice(...group.map((score) => literal(String(score))));
        const form = sequence(spaces, literal(format.phrase), optional(literal(" ")), number, spaces);
        return { form, example: `${format.phrase}${group[0]}` };
      });
  }
  return undefined;
}

type RatingsFormat = Extract<BodyFormat, { kind: "ratings" }>;

function ratingsExample(format: RatingsFormat, value: string): string {
  return format.criteria.map((criterion) => `${criterion} : ${value}`).join("\n");
}

function ratings(format: RatingsFormat, allowed: (criterion: number) => readonly string[]): Expression {
  const space = optional(literal(" "));
  const lines = format.criteria.map((criterion, index) =>
    sequence(literal(criterion), space, literal(":"), space, choice(...allowed(index).map(literal))),
  );
  return sequence(spaces, ...lines.flatMap((line, index) => (index === 0 ? [line] : [literal("\n"), line])), spaces);
}

function plainForm(profile: Profile, format: BodyFormat): Expression {
  if (format.kind === "urls") return urlList();
  if (format.kind === "code") return codeText(format, tagNames(profile));
  if (format.kind === "json") return jsonText();
  if (format.kind === "schema") return schemaText(format.schema);
  return freeText();
}
