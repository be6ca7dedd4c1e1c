/** One layer's matrix products and gate, without attention: by our kernels, and as one ONNX graph with constant weights. */

import { createGraph } from "../../src/engines/embedded/onnx/graph.ts";
import { add, matMul, multiply, silu } from "../../src/engines/embedded/onnx/operators.ts";
import { openRuntime } from "../../src/engines/embedded/runtime/runtime.ts";
import { assembleModule } from "../../src/engines/embedded/sample/wasm/assembler.ts";
import { matmulFunction } from "../../src/engines/embedded/sample/wasm/matmul.ts";
import { gateFunction } from "../../src/engines/embedded/sample/wasm/row-kernels.ts";

/** Milliseconds of processor time of one pass, on either side; both use one thread. */
export async function denseLayer({ rows, width, inner }: { rows: number; width: number; inner: number }) {
  const repeats = 200;
  const memory = new WebAssembly.Memory({ initial: 256, maximum: 256, shared: true });
  const functions = [
    matmulFunction("project", width, "set"),
    matmulFunction("addOut", width, "add"),
    matmulFunction("addInner", inner, "add"),
    gateFunction(inner),
  ];
  const module = new WebAssembly.Module(assembleModule(functions, 256));
  const kernels = new WebAssembly.Instance(module, { env: { memory } }).exports as Record<
    string,
    (...values: number[]) => void
  >;
  const { project, addOut, addInner, gate } = kernels;
  const [x, qkv, attended, gateUp, gated, zeros, weights] = [0, 1, 2, 3, 4, 5, 6].map((slot) => slot << 20) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const ours = () => {
    const start = process.cpuUsage();
    for (let index = 0; index < repeats; index++) {
      project!(x, weights, zeros, qkv, rows, (3 * width) / 8, 3 * width * 4);
      addOut!(attended, weights, 0, x, rows, width / 8, width * 4);
      project!(x, weights + (1 << 20), zeros, gateUp, rows, (2 * inner) / 8, 2 * inner * 4);
      gate!(rows, gateUp, gated);
      addInner!(gated, weights + (2 << 20), 0, x, rows, width / 8, width * 4);
    }
    return milliseconds(process.cpuUsage(start)) / repeats;
  };

  const graph = createGraph();
  const constant = (from: number, to: number) =>
    graph.constant(
      Float32Array.from({ length: from * to }, (_, index) => Math.sin(index) / 20),
      [from, to],
    );
  const input = graph.input("x", "float32", [rows, width]);
  const attention = graph.input("attended", "float32", [rows, width]);
  graph.output("qkv", matMul(graph, input, constant(width, 3 * width)));
  const middle = add(graph, input, matMul(graph, attention, constant(width, width)));
  const up = matMul(graph, middle, constant(width, inner));
  const inside = multiply(graph, silu(graph, matMul(graph, middle, constant(width, inner))), up);
  graph.output("out", add(graph, middle, matMul(graph, inside, constant(inner, width))));
  const session = await openRuntime({ threads: 1 }).load(graph.encode());
  const feeds = {
    x: { data: new Float32Array(rows * width), shape: [rows, width] },
    attended: { data: new Float32Array(rows * width), shape: [rows, width] },
  };
  const onnx = async () => {
    const start = process.cpuUsage();
    for (let index = 0; index < repeats; index++) await session.run(feeds);
    return milliseconds(process.cpuUsage(start)) / repeats;
  };
  return { ours, onnx, close: () => session.release() };
}

const milliseconds = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1000;
