/** The body of a lane's thread: tasks in, log-probabilities and the sums of their gradients out. */
import { parentPort, workerData } from "node:worker_threads";
import { messageOf } from "../../../core/errors.ts";
import { openRuntime } from "../runtime/open-runtime.ts";
import { createGradientLane, type LaneTask } from "./gradient-lane.ts";
import type { FromLane, LaneThreadData } from "./lane-threads.ts";

const { model, runtime, threads } = workerData as LaneThreadData;
const shared = (length: number) => new Float32Array(new SharedArrayBuffer(length * 4));
const lane = createGradientLane(model, openRuntime({ threads, name: runtime }), shared);

const run = async (tasks: readonly LaneTask[]): Promise<FromLane> => {
  try {
    lane.clear();
    const logprobs: Float32Array[] = [];
    for (const task of tasks) logprobs.push(await lane.run(task));
    return { logprobs, gradients: lane.gradients };
  } catch (error) {
    return { error: messageOf(error) };
  }
};
parentPort!.on("message", async (tasks: readonly LaneTask[]) => {
  parentPort!.postMessage(await run(tasks));
});
