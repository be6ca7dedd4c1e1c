import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Template } from "@huggingface/jinja";
import { boundedTemplate } from "./bounded-template.ts";
import { chatTemplate } from "./chat-template.ts";

const nested = (loops: number, list: string) =>
  `${`{% for i in ${list} %}`.repeat(loops)}x${"{% endfor %}".repeat(loops)}`;
const doubling = (kind: string, times: number) =>
  `{% set ns = namespace(x=${kind}) %}{% for i in range(${times}) %}{% set ns.x = ns.x + ns.x %}{% endfor %}`;

const endless: Record<string, string> = {
  "loops in loops": nested(9, "range(1000)"),
  "loops in loops over nothing much": nested(40, "[1, 2, 3]"),
  "loops over long lists with empty bodies":
    "{% for i in range(99999) %}{% for j in range(99999) if false %}{% endfor %}{% endfor %}",
  "loops over one long list":
    "{% set many = range(99999) %}{% for i in many %}{% for j in many %}{% endfor %}{% endfor %}",
  "a list of a billion": "{% for i in range(1000000000) %}x{% endfor %}",
  "a list without an end": "{{ range(0, 1, 0) }}",
  "the list under another name": "{% set r = range %}{{ r(1000000000) | length }}",
  "a text that doubles": `${doubling("'x'", 60)}{{ ns.x | length }}`,
  "a list that doubles": `${doubling("[1]", 60)}{{ ns.x | length }}`,
  "a macro that calls itself twice":
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
  "a macro without an end": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
  "a template of megabytes": "x".repeat(2_000_000),
};

describe("a template from a model folder", () => {
  for (const [name, source] of Object.entries(endless)) {
    it(`ends: ${name}`, () => {
      assert.throws(() => {
        chatTemplate(source).render([{ role: "user", content: "hello" }]);
      }, /chat template (?:can't be read|refused the messages): /);
    });
  }

  it("has the same globals as the library's own templates", () => {
    const source = `{{ range(3) | list }}{{ range(1, 8, 3) | list }}{{ range(5, 0, -2) | list }}{{ True }}{{ none is none }}{{ strftime_now('%Y') }}`;
    assert.equal(boundedTemplate(source)({}), new Template(source).render({}));
    assert.throws(() => boundedTemplate("{{ raise_exception('no system role') }}")({}), /no system role/);
  });

  it("renders a conversation of a thousand long messages", () => {
    const source =
      "{% for m in messages %}{% if loop.index0 > 0 and messages[loop.index0 - 1].role == m.role %}!{% endif %}<{{ m.role }}>{{ m.content | trim }}</>{% endfor %}";
    const messages = Array.from({ length: 1000 }, (_, at) => ({
      role: at % 2 === 0 ? ("user" as const) : ("assistant" as const),
      content: "word ".repeat(400),
    }));
    assert.equal(boundedTemplate(source)({ messages }), new Template(source).render({ messages }));
  });
});
