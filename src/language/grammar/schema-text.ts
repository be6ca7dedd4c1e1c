/**
 * JSON that follows a plain schema, as a regular expression: properties in the order of the schema, optional ones left out
 * or not, a little white space. Limits of sizes are not in it; they are checked when the answer is there.
 */
import type { JsonSchema } from "../../core/tool.ts";
import { characters, choice, type Expression, literal, noneOf, optional, sequence, star } from "./rules.ts";

/** A little white space. Bounded, because a confused model could write it for ever. */
export const spaces = sequence(optional(characters([" ", "\n"])), optional(characters([" ", "\n"])));

/** The body of an answer in this schema. */
export function schemaText(schema: JsonSchema): Expression {
  return sequence(spaces, formOf(schema), spaces);
}

function formOf(schema: JsonSchema): Expression {
  const { string, number, whole, gap } = jsonParts();
  const options = schema["anyOf"] as JsonSchema[] | undefined;
  if (options) return choice(...options.map(formOf));
  const choices = schema["enum"] as unknown[] | undefined;
  // An angle bracket would look like a tag: JSON has another way to write it.
  if (choices) return choice(...choices.map((one) => literal(JSON.stringify(one).replaceAll("<", "\\u003c"))));
  switch (schema.type) {
    case "string":
      return string;
    case "number":
      return number;
    case "integer":
      return sequence(optional(literal("-")), whole);
    case "boolean":
      return choice(literal("true"), literal("false"));
    case "null":
      return literal("null");
    case "array": {
      const item = formOf(schema["items"] as JsonSchema);
      const filled = sequence(item, star(sequence(literal(","), gap, item)));
      const inside = ((schema["minItems"] as number | undefined) ?? 0) > 0 ? filled : optional(filled);
      return sequence(literal("["), inside, literal("]"));
    }
    default:
      return schema["additionalProperties"] === true ? jsonObject() : objectOf(schema, gap);
  }
}

function objectOf({ properties = {}, required = [] }: JsonSchema, gap: Expression): Expression {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const key = literal(`${JSON.stringify(name).replaceAll("<", "\\u003c")}:`);
    return { form: sequence(key, gap, formOf(schema)), needed: required.includes(name) };
  });
  const comma = sequence(literal(","), gap);
  const after = (from: number) =>
    fields.slice(from).map(({ form, needed }) => {
      const next = sequence(comma, form);
      return needed ? next : optional(next);
    });
  // Commas are between properties that are present: before the first required one they follow a property, after it they
  // precede one.
  const first = fields.findIndex((field) => field.needed);
  const before = fields.slice(0, first).map(({ form }) => optional(sequence(form, comma)));
  const inside =
    first >= 0
      ? sequence(...before, fields[first]!.form, ...after(first + 1))
      : choice(literal(""), ...fields.map(({ form }, index) => sequence(form, ...after(index + 1))));
  return sequence(literal("{"), gap, inside, gap, literal("}"));
}

/** What JSON is made of; an angle bracket in a text is written as an escape, so that it can't look like a tag. */
function jsonParts() {
  const plain = noneOf('"', "\\", "<", "\u0000-\u001f");
  const hex = characters(["0-9", "a-f", "A-F"]);
  const escaped = sequence(
    literal("\\"),
    choice(characters(['"', "\\", "/", "b", "f", "n", "r", "t"]), sequence(literal("u"), hex, hex, hex, hex)),
  );
  const string = sequence(literal('"'), star(choice(plain, escaped)), literal('"'));
  const digit = characters(["0-9"]);
  const whole = choice(literal("0"), sequence(characters(["1-9"]), star(digit)));
  const number = sequence(optional(literal("-")), whole, optional(sequence(literal("."), digit, star(digit))));
  const gap = optional(characters([" ", "\n"]));
  return { string, number, whole, gap };
}

/** A flat JSON object: strings, numbers, truth values, null, and lists of strings. */
export function jsonObject(): Expression {
  const { string, number, gap } = jsonParts();
  const key = sequence(
    literal('"'),
    characters(["a-z", "A-Z", "_"]),
    star(characters(["a-z", "A-Z", "0-9", "_"])),
    literal('"'),
  );
  const list = sequence(literal("["), string, star(sequence(literal(","), gap, string)), literal("]"));
  const value = choice(string, number, literal("true"), literal("false"), literal("null"), list);
  const field = sequence(key, literal(":"), gap, value);
  return sequence(literal("{"), gap, field, star(sequence(literal(","), gap, field)), gap, literal("}"));
}
