/** Draws a graph as a Mermaid flow chart: what docs show and what one prints when a graph is not what was meant. */
import type { Graph } from "../../src/engines/embedded/onnx/graph.ts";

/** One box per operator, input and output; arrows carry nothing but order. */
export function drawGraph(graph: Graph): string {
  const made = new Map<string, string>(); // [value name] to the box that makes it
  const lines = ["flowchart LR"];
  graph.inputs.forEach((value, index) => {
    made.set(value.name, `in${index}`);
    lines.push(`  in${index}(["${value.name} [${value.shape.join(", ")}]"])`);
  });
  graph.nodes.forEach((node, index) => {
    const output = graph.outputs.find((value) => value.name === node.outputs[0]);
    const box = output ? `out${index}` : `op${index}`;
    lines.push(output ? `  ${box}(["${output.name}"])` : `  ${box}["${node.operator}"]`);
    for (const input of node.inputs) {
      const from = made.get(input);
      if (from) lines.push(`  ${from} --> ${box}`);
    }
    for (const name of node.outputs) made.set(name, box);
  });
  return lines.join("\n");
}
