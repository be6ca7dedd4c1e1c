import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { seededRandom } from "../../../../base/work/random.ts";
import { assembleModule, code, get, v128, type WasmFunction } from "./assembler.ts";
import { matmulFunction, panelColumns } from "./matmul.ts";
import { groupedRow, integersFunction, matmul8Function, packColumn8, panelBytes8 } from "./matmul-8bit.ts";
import { gateFunction, softmaxFunction } from "./row-kernels.ts";
import { exponential } from "./vector-math.ts";

type Kernel = (...parameters: number[]) => number;

/** Functions over a fresh memory, and that memory as floats. */
function instantiate(functions: WasmFunction[]): { kernels: Record<string, Kernel>; floats: Float32Array } {
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 16, shared: true });
  const module = new WebAssembly.Module(assembleModule(functions, 16));
  const { exports } = new WebAssembly.Instance(module, { env: { memory } });
  return { kernels: exports as Record<string, Kernel>, floats: new Float32Array(memory.buffer) };
}

describe("the decoder's kernels", () => {
  it("compute e^x to a few units in the last place, and next to nothing far below zero", () => {
    const { kernels, floats } = instantiate([
      {
        name: "exp",
        parameters: ["i32"],
        body: ([at], local) => code(v128.store(get(at!), exponential(local)(v128.load(get(at!))))),
      },
    ]);
    for (let x = -87; x < 88; x += 0.0371) {
      floats[0] = x;
      const exact = Math.exp(floats[0]!);
      kernels["exp"]!(0);
      assert.ok(Math.abs(floats[0]! / exact - 1) < 4e-7, `e^${x}: ${floats[0]} for ${exact}`);
    }
    floats.set([-1e30, Number.NEGATIVE_INFINITY, Number.NaN, 0]);
    kernels["exp"]!(0);
    assert.ok(floats[0]! < 1e-37 && floats[1]! < 1e-37 && Number.isNaN(floats[2]!) && floats[3] === 1);
  });

  it("multiply by weights of 8 bits as by the weights they stand for, each row to the same bits as alone", () => {
    const [depth, outputs] = [88, 16]; // a group and a part of one
    const { kernels, floats } = instantiate([
      integersFunction("integers", depth),
      matmul8Function("set", depth, "set"),
      matmul8Function("add", depth, "add"),
    ]);
    const random = seededRandom(3);
    const [x, b, bias, c, integers] = [0, 8192, 16384, 24576, 32768] as const;
    for (let index = 0; index < c / 4; index++) floats[index] = random.normal();
    const memory8 = { floats, bytes: new Int8Array(floats.buffer) };
    const weights = Array.from({ length: outputs }, (_, out) => {
      const row = groupedRow(depth);
      for (let k = 0; k < depth; k++) row[k] = random.normal() * (k < 64 ? 1 : 100);
      packColumn8(memory8, b + Math.floor(out / panelColumns) * panelBytes8(depth), out % panelColumns, row);
      for (const [from, to] of [
        [0, 64],
        [64, depth],
      ] as const) {
        const scale = Math.max(...row.slice(from, to).map(Math.abs)) / 127;
        for (let k = from; k < to; k++) row[k] = scale * Math.round(row[k]! / scale);
      }
      return row;
    });
    for (let rows = 1; rows <= 9; rows++) {
      const multiply = (kernel: string, first: number, count: number) => {
        kernels["integers"]!(count, x + first * depth * 4, integers);
        kernels[kernel]!(integers, b, bias, c, count, outputs / panelColumns, outputs * 4);
        return floats.slice(c / 4, c / 4 + count * outputs);
      };
      const together = multiply("set", 0, rows);
      const twice = multiply("add", 0, rows);
      for (let row = 0; row < rows; row++) {
        for (let out = 0; out < outputs; out++) {
          let sum = 0;
          for (let k = 0; k < depth; k++) sum += floats[row * depth + k]! * weights[out]![k]!;
          const at = row * outputs + out;
          assert.ok(Math.abs(together[at]! - sum - floats[bias / 4 + out]!) < 0.05, `${together[at]} for ${sum}`);
          assert.ok(Math.abs(twice[at]! - together[at]! - sum) < 0.05);
        }
        assert.deepEqual(multiply("set", row, 1), together.slice(row * outputs, (row + 1) * outputs));
      }
    }
  });

  it("multiply any number of rows as a plain loop does, each row to the same bits as alone", () => {
    const [depth, outputs] = [24, 16];
    const { kernels, floats } = instantiate([matmulFunction("set", depth, "set"), matmulFunction("add", depth, "add")]);
    const random = seededRandom(1);
    const [a, b, bias, c] = [0, 8192, 16384, 24576].map((address) => address / 4) as [number, number, number, number];
    for (let index = 0; index < c; index++) floats[index] = random.normal();
    const weight = (k: number, out: number) =>
      floats[b + Math.floor(out / panelColumns) * depth * panelColumns + k * panelColumns + (out % panelColumns)]!;
    for (let rows = 1; rows <= 14; rows++) {
      kernels["set"]!(a * 4, b * 4, bias * 4, c * 4, rows, outputs / panelColumns, outputs * 4);
      const together = floats.slice(c, c + rows * outputs);
      for (let row = 0; row < rows; row++) {
        for (let out = 0; out < outputs; out++) {
          let sum = floats[bias + out]!;
          for (let k = 0; k < depth; k++) sum += floats[a + row * depth + k]! * weight(k, out);
          assert.ok(Math.abs(together[row * outputs + out]! - sum) < 1e-5);
        }
        kernels["set"]!((a + row * depth) * 4, b * 4, bias * 4, c * 4, 1, outputs / panelColumns, outputs * 4);
        assert.deepEqual(floats.slice(c, c + outputs), together.slice(row * outputs, (row + 1) * outputs));
      }
      floats.set(together, c);
      kernels["add"]!(a * 4, b * 4, 0, c * 4, rows, outputs / panelColumns, outputs * 4);
      for (let index = 0; index < together.length; index++) {
        const expected = 2 * together[index]! - floats[bias + (index % outputs)]!;
        assert.ok(Math.abs(floats[c + index]! - expected) < 1e-5);
      }
    }
  });

  it("gate and normalise as their formulas say, whatever the length", () => {
    const { kernels, floats } = instantiate([gateFunction(8), softmaxFunction()]);
    const random = seededRandom(2);
    const input = Float32Array.from({ length: 32 }, () => 4 * random.normal()); // two rows of gate, up
    floats.set(input);
    kernels["gate"]!(2, 0, 1024);
    for (let row = 0; row < 2; row++) {
      for (let index = 0; index < 8; index++) {
        const [gate, up] = [input[row * 16 + index]!, input[row * 16 + 8 + index]!];
        assert.ok(Math.abs(floats[256 + row * 8 + index]! - (gate * up) / (1 + Math.exp(-gate))) < 1e-5);
      }
    }
    for (let count = 1; count <= 13; count++) {
      const values = Float32Array.from({ length: count }, () => 5 * random.normal());
      floats.set(values, 512);
      const sum = kernels["softmax"]!(2048, count, 0.5);
      const largest = Math.max(...values);
      const expected = Array.from(values, (value) => Math.exp(0.5 * (value - largest)));
      assert.ok(Math.abs(sum - expected.reduce((a, b) => a + b, 0)) < 1e-5);
      for (const [index, value] of expected.entries()) assert.ok(Math.abs(floats[512 + index]! - value) < 1e-6);
    }
  });
});
