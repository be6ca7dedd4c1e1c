/** Our training server over a small model, in a process of its own that can be killed: `<checkpoints> <port>`. Prints its address. */
import { listen } from "../../src/base/http/listen.ts";
import { openEmbeddedEngine } from "../../src/engines/embedded/embedded-engine.ts";
import { trainerHandler } from "../../src/serve/trainer/trainer-handler.ts";
import { base, config } from "./far-runs.ts";

const [checkpoints = "", port = "0"] = process.argv.slice(2);
const { handler } = trainerHandler({
  baseModel: "coa/test",
  maxContext: config.maxContext,
  openAdapter: (lora) => openEmbeddedEngine({ ...base, lora }),
  checkpoints,
});
console.log((await listen(handler, { port: Number(port) })).origin);
process.stdin.on("end", () => process.exit(0)).resume(); // ends with whoever started it
