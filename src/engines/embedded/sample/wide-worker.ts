/** The body of the thread that computes wide tiles: ONNX Runtime for what lies between the attentions, WebAssembly for these. */
import { parentPort, workerData } from "node:worker_threads";
import { isInstalled } from "../../../base/work/optional-peer.ts";
import { type HostTensor, openRuntime, type Session } from "../runtime/runtime.ts";
import { controlWords, tileAddresses, wantBytes } from "./decoder-layout.ts";
import { attendLayer, tileKernels } from "./run-tile.ts";
import { type ToWideThread, type WideThreadData, wideStates } from "./wide-thread.ts";

const { module, memory, layout, config, threads } = workerData as WideThreadData;
const control = new Int32Array(memory.buffer, 0, 16);
const words = new Int32Array(memory.buffer);
const floats = new Float32Array(memory.buffer);
const kernels = tileKernels(module, memory);
const runtime = openRuntime({ threads });
const sessions: Session[] = [];

async function load(graph: Uint8Array<ArrayBuffer>, index: number): Promise<number> {
  if (!isInstalled("onnxruntime-node")) return wideStates.absent;
  const session = await runtime.load(graph);
  graph.buffer.transfer(0); // its memory is given back now, not when it happens to be collected
  await sessions[index]?.release();
  sessions[index] = session;
  return wideStates.done;
}

async function run(): Promise<number> {
  const { header, rows, wants } = tileAddresses(layout, "wide");
  const [count, wanted] = [words[header / 4]!, words[header / 4 + 1]!];
  const { x, qkv, attended, scores } = layout.wide;
  const read = (address: number, width: number) => ({
    data: floats.slice(address / 4, address / 4 + count * width),
    shape: [count, width],
  });
  kernels.embed(count, rows, layout.embedding, x);
  let states: HostTensor = read(x, layout.width);
  for (let layer = 0; layer < config.layers; layer++) {
    const results = await sessions[layer]!.run({
      x: states,
      ...(layer > 0 && { attended: read(attended, layout.queryWidth) }),
    });
    if (layer > 0) states = { ...states, data: results["rows"]! };
    floats.set(results["qkv"]!, qkv / 4);
    attendLayer(kernels, layout, layer, { count, rows, qkv, attended, scores });
  }
  if (wanted === 0) return wideStates.done;
  const picked = BigInt64Array.from({ length: wanted }, (_, at) => BigInt(words[(wants + at * wantBytes) / 4]!));
  const feeds = {
    x: states,
    attended: read(attended, layout.queryWidth),
    wanted: { data: picked, shape: [wanted] },
  };
  const logits = (await sessions[config.layers]!.run(feeds))["logits"]!;
  for (let index = 0; index < wanted; index++) {
    const row = layout.logits + index * layout.logitsBytes;
    floats.set(logits.subarray(index * config.vocabularySize, (index + 1) * config.vocabularySize), row / 4);
    const scale = floats[(wants + index * wantBytes) / 4 + 1]!;
    if (scale > 0) floats[row / 4 + layout.vocabularyWidth] = kernels.softmax(row, config.vocabularySize, scale);
  }
  return wideStates.done;
}

parentPort!.on("message", (message: ToWideThread) => {
  const work = message === "run" ? run() : load(message.graph, message.index);
  void work
    .catch(() => wideStates.failed)
    .then((state) => {
      Atomics.store(control, controlWords.wide, state);
      Atomics.notify(control, controlWords.wide);
    });
});
