/** A run of far-runs.ts against a server, in a process of its own that can be killed: `sft|rl <folder> <server> <options>`. Prints each step. */
import { openTinkerEngine, type TinkerEngine } from "../../src/engines/tinker/tinker-engine.ts";
import { config, farLora, rl, sft } from "./far-runs.ts";

const [kind = "sft", folder = "", baseURL = "", extra = "{}"] = process.argv.slice(2);
const options = {
  ...JSON.parse(extra),
  resume: "auto" as const,
  onProgress: ({ done }: { done: number }) => console.log(`step ${done}`),
};
let engine: TinkerEngine | undefined;
try {
  engine = await openTinkerEngine({
    baseURL,
    baseModel: "coa/test",
    lora: farLora,
    vocabularySize: config.vocabularySize,
    maxContext: config.maxContext,
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms / 10)),
    attempts: 1000, // a server that was killed is back when it is back
  });
  await (kind === "sft" ? sft(engine, folder, options) : rl(engine, folder, options));
  console.log("finished");
} catch (error) {
  console.log(`failed: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  await engine?.close();
}
