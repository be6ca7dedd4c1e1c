/**
 * A chat template comes with a model folder, so it is a stranger's program: loops in loops, lists of a billion numbers
 * and texts that double must end. Every evaluated node costs a step, and so does what it makes by its size; a template
 * that takes more steps than any real one is refused.
 */
import { Environment, Interpreter, Template } from "@huggingface/jinja";
import { CoaError } from "../core/errors.ts";

type Node = { type: string; iterable?: { type: string; lhs?: object } } | undefined;
type Value = { value: unknown };

/** The library's interpreter, as far as it is used here: every node of a template passes through `evaluate`. */
const Evaluator = Interpreter as unknown as new (
  environment: Environment,
) => { run(program: unknown): Value; evaluate(node: Node, environment: Environment): Value };

/** Real templates have up to 20 kB. */
const maxSource = 1_000_000;
/** Real templates take about a hundred steps for a message. */
const baseSteps = 100_000;
const maxListLength = 100_000;

/** A compiled template that ends: rendering one that takes too many steps throws. */
export function boundedTemplate(source: string): (variables: Record<string, unknown>) => string {
  if (source.length > maxSource) {
    throw new CoaError("format", `it has ${source.length} characters; ${maxSource} are the most`);
  }
  const { parsed } = new Template(source);
  return (variables) => {
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...globals, ...variables })) environment.set(name, value);
    const budget = baseSteps + 10 * JSON.stringify(variables).length;
    return String(new BoundedInterpreter(environment, budget).run(parsed).value);
  };
}

class BoundedInterpreter extends Evaluator {
  #left: number;
  /** Nodes that are what a loop runs over: the loop costs as many steps as there are items, whatever its body. */
  #loopedOver = new WeakSet<object>();

  constructor(environment: Environment, budget: number) {
    super(environment);
    this.#left = budget;
  }

  override evaluate(node: Node, environment: Environment): Value {
    this.#spend(1);
    if (node?.type === "For") this.#loopedOver.add(iterableOf(node));
    const value = super.evaluate(node, environment);
    const size = sizeOf(value);
    if (size > 0) this.#spend(node && this.#loopedOver.has(node) ? size : size / 16);
    return value;
  }

  #spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new CoaError("format", "it takes more steps than a chat template may: does it loop?");
  }
}

function iterableOf({ iterable }: NonNullable<Node>): object {
  return iterable!.type === "SelectExpression" ? (iterable!.lhs ?? iterable!) : iterable!;
}

/** How much a value holds: the characters of a text, the items of a list or an object. */
function sizeOf({ value }: Value): number {
  if (typeof value === "string" || Array.isArray(value)) return value.length;
  return value instanceof Map ? value.size : 0;
}

/** What the library offers every template, with lists of numbers bounded. */
const globals: Record<string, unknown> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  raise_exception(message: unknown) {
    throw new Error(String(message));
  },
  range(start: number, stop?: number, step = 1) {
    const [first, last] = stop === undefined ? [0, start] : [start, stop];
    const count = Math.max(0, Math.ceil((last - first) / step));
    if (!(count <= maxListLength)) throw new CoaError("format", `a list of ${count} numbers is too long`);
    return Array.from({ length: count }, (_, index) => first + index * step);
  },
  strftime_now: (format: string) => new Template("{{ strftime_now(format) }}").render({ format }),
};
