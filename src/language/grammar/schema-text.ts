/**
 * JSON that follows a plain schema, as a regular expression: properties in the order of the schema, optional ones left out
 * or not, a little white space. Limits of sizes are not in it; they are checked when the answer is there.
 */
import type { JsonSchema } from "../../core/tool.ts";
import { jsonObject, jsonParts, spaces } from "./body-text.ts";
import { choice, type Expression, literal, optional, sequence, star } from "./rules.ts";

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
