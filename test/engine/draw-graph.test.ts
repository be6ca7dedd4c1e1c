import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { swiGlu } from "../../src/engines/embedded/autodiff/rules.ts";
import { createTape, gradients } from "../../src/engines/embedded/autodiff/tape.ts";
import { createGraph } from "../../src/engines/embedded/onnx/graph.ts";
import { drawGraph } from "./draw-graph.ts";

/** The example of docs/guide/engine.md: a gated unit, and the gradients of both its arguments. */
function smallGraph() {
  const graph = createGraph();
  const tape = createTape(graph);
  const [gate, up] = [graph.input("gate", "float32", ["tokens", 4]), graph.input("up", "float32", ["tokens", 4])];
  const y = swiGlu(tape, gate, up);
  const slope = graph.input("slope of y", "float32", ["tokens", 4]);
  const [dGate, dUp] = gradients(tape, [[y, slope]], [gate, up]);
  graph.output("y", y);
  graph.output("gradient of gate", dGate!);
  graph.output("gradient of up", dUp!);
  return graph;
}

describe("drawGraph", () => {
  it("draws the graph that the guide shows", () => {
    const drawing = drawGraph(smallGraph());
    const guide = readFileSync(join(import.meta.dirname, "../../docs/guide/engine.md"), "utf8");
    assert.ok(guide.includes(`\`\`\`mermaid\n${drawing}\n\`\`\``), `docs/guide/engine.md should show:\n${drawing}`);
  });

  it("shows forward and backward of one operator as one graph", () => {
    const graph = createGraph();
    const tape = createTape(graph);
    const [gate, up] = [graph.input("gate", "float32", [2, 2]), graph.input("up", "float32", [2, 2])];
    const y = swiGlu(tape, gate, up);
    const [dUp] = gradients(tape, [[y, graph.input("slope", "float32", [2, 2])]], [up]);
    graph.output("up's gradient", dUp!);
    // Only what `up` needs is added: one product beyond the two nodes of the forward pass.
    assert.deepEqual(
      graph.nodes.map((node) => node.operator),
      ["QuickGelu", "Mul", "Mul", "Identity"],
    );
    assert.match(drawGraph(graph), /op0\["QuickGelu"\]/);
  });
});
