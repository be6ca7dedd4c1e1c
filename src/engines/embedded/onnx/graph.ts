/**
 * A graph under construction. A value is a name with an element type and a shape; a node turns values into values. Sizes
 * known only when the graph runs (how many rows a batch has) are written as names, the rest as numbers. `encode` writes
 * the finished graph as an ONNX model.
 */
import { type ProtoWriter, protoWriter } from "../../../base/wire/protobuf.ts";

export type ElementType = "float32" | "int64" | "bool" | "uint8";

/** A size: a number, or the name of a size known when the graph runs. */
export type Dimension = number | string;

/** The result of a node, an input or a constant. */
export interface Value {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly Dimension[];
}

export type Attribute = number | string | readonly number[] | { float: number };

export interface NodeSpec {
  operator: string;
  /** Omitted optional inputs are `undefined`. */
  inputs: readonly (Value | undefined)[];
  outputs: readonly { shape: readonly Dimension[]; type?: ElementType }[];
  attributes?: Record<string, Attribute>;
  domain?: "com.microsoft";
}

/** Collects nodes and writes them as an ONNX model. */
export type Graph = ReturnType<typeof createGraph>;

const elementCodes: Record<ElementType, number> = { float32: 1, int64: 7, bool: 9, uint8: 2 };
const opset = 23;

/**
 * Operators whose results have sizes that can't be inferred: they are written down. So a name must stand for one size in all of a
 * graph. ONNX Runtime uses memory again where sizes are equal by name; without names it keeps a list of memory that nothing
 * fits, and goes through it at every node: loading took a time that grows with the square of the graph.
 */
const resizing = new Set(["Slice", "Concat", "Reshape", "Pad", "Expand"]);

/** Starts an empty graph. */
export function createGraph() {
  const inputs: Value[] = [];
  const outputs: Value[] = [];
  const constants = new Map<string, { value: Value; bytes: Uint8Array }>();
  const nodes: { operator: string; inputs: string[]; outputs: string[]; spec: NodeSpec }[] = [];
  let counter = 0;

  const addNode = (spec: NodeSpec, names?: string[]): Value[] => {
    const values = spec.outputs.map(({ shape, type }, index): Value => {
      const name = names?.[index] ?? `${spec.operator}_${counter++}`;
      return { name, type: type ?? "float32", shape };
    });
    nodes.push({
      operator: spec.operator,
      inputs: spec.inputs.map((value) => value?.name ?? ""),
      outputs: values.map((value) => value.name),
      spec,
    });
    return values;
  };

  return {
    inputs,
    outputs,
    nodes,
    input(name: string, type: ElementType, shape: readonly Dimension[]): Value {
      const value = { name, type, shape };
      inputs.push(value);
      return value;
    },
    /** A tensor stored in the graph; the same contents are stored once. */
    constant(data: Float32Array | readonly bigint[], shape: readonly number[]): Value {
      const type = data instanceof Float32Array ? "float32" : "int64";
      const array = data instanceof Float32Array ? data : BigInt64Array.from(data);
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength).slice();
      const key = `${type} ${shape.join()} ${Buffer.from(bytes).toString("latin1")}`;
      let entry = constants.get(key);
      if (!entry) constants.set(key, (entry = { value: { name: `constant_${counter++}`, type, shape }, bytes }));
      return entry.value;
    },
    /** A large tensor stored in the graph, under a name of its own. */
    weight(name: string, data: Float32Array | Uint8Array, shape: readonly number[]): Value {
      const value: Value = { name, type: data instanceof Float32Array ? "float32" : "uint8", shape };
      constants.set(name, { value, bytes: new Uint8Array(data.buffer, data.byteOffset, data.byteLength) });
      return value;
    },
    node: addNode,
    output(name: string, value: Value): void {
      const [named] = addNode({ operator: "Identity", inputs: [value], outputs: [value] }, [name]);
      outputs.push(named!);
    },
    encode(): Uint8Array<ArrayBuffer> {
      const model = protoWriter();
      model.integer(1, 10);
      model.text(2, "chain-of-agents");
      model.message(7, (graph) => {
        for (const { spec, inputs: from, outputs: to } of nodes)
          graph.message(1, (node) => writeNode(node, spec, from, to));
        graph.text(2, "graph");
        for (const { value, bytes } of constants.values())
          graph.message(5, (tensor) => writeTensor(tensor, value, bytes));
        for (const value of inputs) graph.message(11, (info) => writeValueInfo(info, value));
        for (const value of outputs) graph.message(12, (info) => writeValueInfo(info, value));
        for (const { spec, outputs: to } of nodes)
          if (resizing.has(spec.operator))
            graph.message(13, (info) => writeValueInfo(info, { type: "float32", ...spec.outputs[0]!, name: to[0]! }));
      });
      for (const [domain, version] of [
        ["", opset],
        ["com.microsoft", 1],
      ] as const) {
        model.message(8, (entry) => {
          entry.text(1, domain);
          entry.integer(2, version);
        });
      }
      return model.finish();
    },
  };
}

function writeNode(node: ProtoWriter, spec: NodeSpec, inputs: string[], outputs: string[]): void {
  for (const name of inputs) node.text(1, name);
  for (const name of outputs) node.text(2, name);
  node.text(3, outputs[0]!);
  node.text(4, spec.operator);
  for (const [name, value] of Object.entries(spec.attributes ?? {})) {
    node.message(5, (attribute) => writeAttribute(attribute, name, value));
  }
  if (spec.domain) node.text(7, spec.domain);
}

function writeAttribute(attribute: ProtoWriter, name: string, value: Attribute): void {
  attribute.text(1, name);
  if (typeof value === "number") {
    attribute.integer(3, value);
    attribute.integer(20, 2);
  } else if (typeof value === "string") {
    attribute.text(4, value);
    attribute.integer(20, 3);
  } else if ("float" in value) {
    attribute.float(2, value.float);
    attribute.integer(20, 1);
  } else {
    for (const item of value) attribute.integer(8, item);
    attribute.integer(20, 7);
  }
}

function writeTensor(tensor: ProtoWriter, value: Value, bytes: Uint8Array): void {
  for (const size of value.shape) tensor.integer(1, size as number);
  tensor.integer(2, elementCodes[value.type]);
  tensor.text(8, value.name);
  tensor.bytes(9, bytes);
}

function writeValueInfo(info: ProtoWriter, value: Value): void {
  info.text(1, value.name);
  info.message(2, (type) =>
    type.message(1, (tensor) => {
      tensor.integer(1, elementCodes[value.type]);
      tensor.message(2, (shape) => {
        for (const size of value.shape) {
          shape.message(1, (dimension) => {
            if (typeof size === "number") dimension.integer(1, size);
            else dimension.text(2, size);
          });
        }
      });
    }),
  );
}
