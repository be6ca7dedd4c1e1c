/** The body of a lane's thread: tasks in, log-probabilities and the sums of their gradients out. */
import { workerData } from "node:worker_threads";
import { answerCalls } from "../../../base/work/thread.ts";
import { openRuntime } from "../runtime/runtime.ts";
import { createGradientLane, type LaneTask, type LaneThreadData } from "./gradient-lane.ts";

const { model, threads } = workerData as LaneThreadData;
const shared = (length: number) => new Float32Array(new SharedArrayBuffer(length * 4));
const lane = createGradientLane(model, openRuntime({ threads }), shared);

const calls = {
  async run(tasks: readonly LaneTask[]) {
    lane.clear();
    const logprobs: Float32Array[] = [];
    for (const task of tasks) logprobs.push(await lane.run(task));
    return { logprobs, gradients: lane.gradients };
  },
};

export type LaneCalls = typeof calls;

answerCalls(calls);
