import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../base/work/random.ts";
import type { ParameterSet } from "../model/parameters.ts";
import { openRuntime } from "../runtime/runtime.ts";
import { openOptimizer } from "./optimizer.ts";

const runtime = openRuntime({ threads: 1 });
const random = seededRandom(1);
const normal = (...shape: number[]) => ({
  shape,
  data: Float32Array.from({ length: shape.reduce((product, size) => product * size, 1) }, () => random.normal()),
});

describe("AdamW", () => {
  it("follows the published update, decays matrices only and clips by the global norm", async () => {
    const parameters: ParameterSet = new Map([
      ["w", normal(3, 2)],
      ["b", normal(4)],
    ]);
    const expected = new Map([...parameters].map(([name, { data }]) => [name, Float64Array.from(data)]));
    const memory = new Map(
      [...parameters].map(([name, { data }]) => [
        name,
        { m: new Float64Array(data.length), v: new Float64Array(data.length) },
      ]),
    );
    const optimizer = openOptimizer("adamw", parameters, runtime);
    const step = { learningRate: 0.1, beta1: 0.8, beta2: 0.9, epsilon: 1e-6, weightDecay: 0.3, gradientClip: 1.5 };
    for (let t = 1; t <= 4; t++) {
      const gradients = new Map([...parameters].map(([name, { shape }]) => [name, normal(...shape).data]));
      const norm = Math.sqrt([...gradients.values()].flatMap((g) => [...g]).reduce((sum, x) => sum + x * x, 0));
      const reported = await optimizer.step(parameters, gradients, step);
      assert.ok(Math.abs(reported - norm) < 1e-4);
      for (const [name, gradient] of gradients) {
        const { m, v } = memory.get(name)!;
        const w = expected.get(name)!;
        for (let i = 0; i < w.length; i++) {
          const g = gradient[i]! * Math.min(1, step.gradientClip / norm);
          m[i] = step.beta1 * m[i]! + (1 - step.beta1) * g;
          v[i] = step.beta2 * v[i]! + (1 - step.beta2) * g * g;
          const decayed = name === "w" ? w[i]! * (1 - step.learningRate * step.weightDecay) : w[i]!;
          const direction = m[i]! / (1 - step.beta1 ** t) / (Math.sqrt(v[i]! / (1 - step.beta2 ** t)) + step.epsilon);
          w[i] = decayed - step.learningRate * direction;
        }
      }
    }
    for (const [name, { data }] of parameters) {
      for (const [i, value] of data.entries())
        assert.ok(Math.abs(value - expected.get(name)![i]!) < 1e-5, `${name}[${i}]`);
    }
  });
});

describe("Muon", () => {
  for (const [rows, columns] of [
    [6, 6],
    [4, 9],
    [9, 4],
  ] as const) {
    it(`moves a ${rows}x${columns} matrix by one whose singular values are near the learning rate`, async () => {
      const parameters: ParameterSet = new Map([
        ["w", { shape: [rows, columns], data: new Float32Array(rows * columns) }],
      ]);
      const gradient = normal(rows, columns).data;
      await openOptimizer("muon", parameters, runtime).step(parameters, new Map([["w", gradient]]), {
        learningRate: 9,
        matrixLearningRate: 1,
      });
      const moved = parameters.get("w")!.data.map((value) => -value / Math.sqrt(Math.max(1, rows / columns)));
      // The update shares the gradient's singular directions: with U the update, U gradientᵀ is symmetric and positive.
      const small = Math.min(rows, columns);
      const product = (a: Float32Array, b: Float32Array) =>
        Array.from({ length: small }, (_, i) =>
          Array.from({ length: small }, (_, j) => {
            let total = 0;
            for (let k = 0; k < Math.max(rows, columns); k++) {
              total +=
                rows <= columns ? a[i * columns + k]! * b[j * columns + k]! : a[k * columns + i]! * b[k * columns + j]!;
            }
            return total;
          }),
        );
      const mixed = product(moved, gradient);
      const size = Math.hypot(...mixed.flat());
      for (let i = 0; i < small; i++) {
        assert.ok(mixed[i]![i]! > 0);
        for (let j = 0; j < i; j++) assert.ok(Math.abs(mixed[i]![j]! - mixed[j]![i]!) < 1e-3 * size);
      }
      // All eigenvalues of U Uᵀ lie between 0.4 and 1.6, so their mean and the mean of their squares do as well.
      const gram = product(moved, moved);
      const trace = gram.reduce((total, row, i) => total + row[i]!, 0) / small;
      assert.ok(trace > 0.4 && trace < 1.6, `mean squared singular value ${trace}`);
    });
  }
});
