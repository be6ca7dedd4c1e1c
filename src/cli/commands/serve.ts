import { openWorkspace } from "../../base/files/workspace.ts";
import { defineTask } from "../../core/task.ts";
import { chainHandler } from "../../serve/chain-handler.ts";
import { openKeptChains } from "../../serve/kept-chains.ts";
import { openServeState } from "../../serve/serve-state.ts";
import { bestOfFlags, chatOf, openServedBestOf } from "../choose-best.ts";
import { defineCommand, numberOf } from "../command.ts";
import { choiceOf, priceFlag, priceOf } from "../flag-values.ts";
import { chainFlags, openChain } from "../open-chain.ts";
import { oldSystemFlags, openOldSystem } from "../open-old-system.ts";
import { runServer } from "../run-server.ts";
import { handlerOptions, portOptions } from "../serve-flags.ts";

export default defineCommand({
  name: "serve",
  summary:
    "Serve a model with its tools behind the APIs that people use: OpenAI chat completions, responses and completions; Anthropic messages.",
  examples: [
    "coa serve --lab 7 --port 4242",
    "coa serve --base-url http://localhost:8000/v1 --profile web --api-key-file keys.txt --host 0.0.0.0",
    "coa serve --model .coa/quickstart/rl/model --port 0",
  ],
  options: {
    ...chainFlags,
    name: { type: "string", valueName: "name", describe: "Name under which clients ask for the model (default: the model's own)" },
    enforcement: { type: "string", default: "repair", valueName: "level", describe: "report, repair or grammar: what happens to a move against the rules" },
    temperature: { type: "string", short: "t", default: "0", valueName: "x", describe: "Sampling temperature where a request sets none" },
    "max-chains": { type: "string", default: "16", valueName: "n", describe: "Chains at a time; the others wait" },
    "max-queue": { type: "string", default: "256", valueName: "n", describe: "Chains that may wait; more are refused with 429" },
    state: { type: "string", valueName: "folder", describe: "Where responses and waiting chains are kept (default: serve in the workspace)" },
    "seal-key-file": { type: "string", valueName: "file", describe: "Key of the state that clients carry, shared by servers behind one address (default: made in --state)" },
    "client-tools": { type: "string", valueName: "on|off", describe: "Whether clients may bring tools of their own (default: on where the model is told of tools in a prompt)" },
    media: { type: "string", default: "refuse", valueName: "refuse|ignore", describe: "What happens to images, sound and files in a request" },
    keep: { type: "string", valueName: "file", describe: "Append every served chain to this JSONL file, secrets taken out: the next dataset" },
    "show-tools": { type: "boolean", default: false, describe: "Show executed tools as items of their own to every client of the Responses API" },
    "mcp-tools": { type: "boolean", default: false, describe: "Offer each tool over MCP too (POST /mcp), besides ask_chain" },
    observations: { type: "boolean", default: false, describe: "Show what tools returned among the reasoning" },
    ...oldSystemFlags,
    ...bestOfFlags,
    price: priceFlag,
  }, // biome-ignore format: one flag a line
  reads: ["serve"],
  async run({ values, settings, out, signal }) {
    const port = await portOptions(settings.serve);
    const whole = { min: 1, integer: true };
    const old = await openOldSystem(values);
    const opened = await openChain(values, { note: out.note, signal });
    try {
      // A model of the lab has no tools outside a world: that is said now, not to the first client.
      opened.toolsOf(defineTask({ id: "of a client", question: "?" }));
    } catch (error) {
      await opened.close();
      throw error;
    }
    const best = openServedBestOf(values, opened.profile, chatOf(opened.model));
    if (best.bestOf && Number(values.temperature) === 0)
      out.note("--best-of at temperature 0 runs the same chain each time: set --temperature, or let requests set it");
    const state = values.state ?? (await openWorkspace()).path("serve");
    const { store, suspended } = await openServeState(state, { sealKeyFile: values["seal-key-file"] }).catch(
      async (error) => {
        await opened.close();
        throw error;
      },
    );
    const kept = values.keep === undefined ? undefined : await openKeptChains(values.keep);
    try {
      await opened.model.prepare?.(signal);
      const served = await chainHandler({
        ...handlerOptions(port),
        model: opened.model,
        profile: opened.profile,
        toolsOf: opened.toolsOf,
        name: values.name,
        maxChains: numberOf(values["max-chains"], "max-chains", whole),
        maxQueue: numberOf(values["max-queue"], "max-queue", { min: 0, integer: true }),
        observations: values.observations,
        showTools: values["show-tools"],
        mcpTools: values["mcp-tools"],
        store,
        suspended,
        media: choiceOf(values.media, "media", ["refuse", "ignore"]),
        clientTools: switchOf(values["client-tools"]),
        ...old.options,
        bestOf: best.bestOf,
        ...(kept && { forget: kept.delete }),
        onTrajectory(trajectory, mayKeep) {
          // A chain that waits is kept when it has ended.
          if (!kept || !mayKeep || trajectory.pending) return;
          kept.append(trajectory).catch((error: Error) => out.note(`not kept: ${error.message}`));
        },
        defaults: {
          ...opened.defaults,
          enforcement: choiceOf(values.enforcement, "enforcement", ["report", "repair", "grammar"]),
          sampling: { temperature: numberOf(values.temperature, "temperature", { min: 0 }), seed: 0 },
          prices: priceOf(values.price),
        },
      });
      return await runServer(served, port, { out, signal, json: values.json });
    } finally {
      await kept?.close();
      await store.close();
      await old.close();
      await best.close();
      await opened.close();
    }
  },
});

function switchOf(value: string | undefined): boolean | undefined {
  return value === undefined ? undefined : choiceOf(value, "client-tools", ["on", "off"]) === "on";
}
