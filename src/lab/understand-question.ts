/**
 * What the lab's questions mean, read from their words alone. Also how they can be misread: another relation of the
 * same thing, a wrong operator, a dropped term. Misreadings are well-formed, which is what makes them natural.
 */

import type { SeededRandom } from "../base/work/random.ts";
import { type Kind, kinds, type RelationName, relationNamed, relationsOf } from "./relations.ts";

/** A walk over pages: from a named thing along relations, innermost first. */
export interface LookUp {
  entity: string;
  relations: RelationName[];
  /** Which kind the named thing is: said in the question, or implied by the relation asked of it. */
  kinds: readonly Kind[];
}

export type Operator = "+" | "-" | "*";

export type Understood =
  | { kind: "look-up"; lookUp: LookUp }
  | { kind: "compute"; expression: string }
  | { kind: "mixed"; parts: [LookUp, LookUp]; operator: Operator }
  /** Two facts that do not depend on each other, both asked for. */
  | { kind: "both"; parts: [LookUp, LookUp] };

const operators: Readonly<Record<string, Operator>> = { plus: "+", minus: "-", times: "*" };

/** Reads a question; null where it is none of the lab's. */
export function understandQuestion(question: string): Understood | null {
  const asked = /^(?:What is|Tell me|Find) (.+?)[?.]$/.exec(question.trim())?.[1];
  if (!asked) return null;
  const expression = readExpression(asked);
  if (expression) return { kind: "compute", expression };
  const two = /^(the .+) (plus|minus|and) (the .+)$/.exec(asked);
  const first = readLookUp(two?.[1] ?? asked);
  if (!first) return null;
  if (!two) return { kind: "look-up", lookUp: first };
  const second = readLookUp(two[3]!);
  if (!second) return null;
  const operator = operators[two[2]!];
  return operator ? { kind: "mixed", parts: [first, second], operator } : { kind: "both", parts: [first, second] };
}

/** The walks that a question asks for, in the order of its words. */
export function lookUpsOf(understood: Understood): readonly LookUp[] {
  if (understood.kind === "look-up") return [understood.lookUp];
  return understood.kind === "compute" ? [] : understood.parts;
}

/** How the values of two facts are answered together. */
export function bothValues(values: readonly string[]): string {
  return values.join(" and ");
}

function readExpression(asked: string): string | null {
  const grouped = /^the (sum|difference) of (\d+) and (\d+), times (\d+)$/.exec(asked);
  if (grouped) return `(${grouped[2]} ${grouped[1] === "sum" ? "+" : "-"} ${grouped[3]}) * ${grouped[4]}`;
  if (!/^\d+(?: (?:plus|minus|times) \d+)+$/.test(asked)) return null;
  return asked.replace(/plus|minus|times/g, (word) => operators[word]!);
}

function readLookUp(phrase: string): LookUp | null {
  const relations: RelationName[] = [];
  let rest = phrase;
  for (;;) {
    const found = /^the ([a-z ]+?) of (.+)$/.exec(rest);
    const relation = found ? relationNamed(found[1]!) : undefined;
    if (!found || !relation) break;
    relations.unshift(relation.name);
    rest = found[2]!;
  }
  const named = /^(?:the (city|company) )?([A-Z][a-z]+(?: [A-Z][a-z]+)?)$/.exec(rest);
  if (!named || relations.length === 0) return null;
  const said = kinds.find((kind) => kind === named[1]);
  return { entity: named[2]!, relations, kinds: said ? [said] : relationNamed(relations[0]!)!.of };
}

/** The kinds that the thing at a step of the walk may be: the value of the relation before it. */
export function kindsAt(lookUp: LookUp, step: number): readonly Kind[] {
  if (step === 0) return lookUp.kinds;
  const value = relationNamed(lookUp.relations[step - 1]!)!.value;
  return typeof value === "string" ? [value] : [];
}

/** The same question misread, in a way that the random numbers choose. */
export function misread(understood: Understood, random: SeededRandom): Understood {
  switch (understood.kind) {
    case "look-up":
      return { kind: "look-up", lookUp: misreadLookUp(understood.lookUp, random) };
    case "both":
      return { kind: "both", parts: [understood.parts[0], misreadLookUp(understood.parts[1], random)] };
    case "mixed":
      return { ...understood, operator: understood.operator === "+" ? "-" : "+" };
    case "compute":
      return { kind: "compute", expression: misreadExpression(understood.expression, random) };
    default:
      return understood satisfies never;
  }
}

function misreadLookUp(lookUp: LookUp, random: SeededRandom): LookUp {
  const last = lookUp.relations.length - 1;
  const kind = kindsAt(lookUp, last)[0]!;
  const others = relationsOf(kind).filter((relation) => relation.name !== lookUp.relations[last]);
  return { ...lookUp, relations: lookUp.relations.with(last, random.pick(others).name) };
}

function misreadExpression(expression: string, random: SeededRandom): string {
  const parts = expression.split(" ");
  if (parts.length > 3 && random.next() < 0.5) {
    // The last term is forgotten, with a bracket that then has no sense.
    return parts.slice(0, -2).join(" ").replace(/[()]/g, "");
  }
  const places = parts.flatMap((part, index) => (/^[-+*]$/.test(part) ? [index] : []));
  const place = random.pick(places);
  return parts.with(place, parts[place] === "+" ? "-" : "+").join(" ");
}
