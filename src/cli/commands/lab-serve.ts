import { once } from "node:events";
import { createWorld } from "../../lab/create-world.ts";
import { serveWorld } from "../../lab/serve-world.ts";
import { defineCommand, numberOf } from "../command.ts";
import { worldFlags, worldOptionsOf } from "./lab-options.ts";

export default defineCommand({
  name: "lab serve",
  summary: "Serve a lab world on this machine until Ctrl-C: for a crawler, or for looking around in it.",
  examples: ["coa lab serve --seed 7 --port 8090"],
  options: {
    ...worldFlags,
    port: { type: "string", default: "0", valueName: "n", describe: "Port on 127.0.0.1; any free one by default" },
  },
  async run({ values, out, signal }) {
    const world = createWorld(worldOptionsOf(values));
    const port = numberOf(values.port, "port", { min: 0, max: 65_535, integer: true });
    const served = await serveWorld(world, { port });
    if (values.json) out.json({ base: served.base, pages: world.entities.length });
    else out.print(`${world.entities.length} pages at ${served.base} (Ctrl-C ends)`);
    if (!signal.aborted) await once(signal, "abort");
    await served.close();
    return 0;
  },
});
