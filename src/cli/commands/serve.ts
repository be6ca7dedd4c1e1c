import { openWorkspace } from "../../base/files/workspace.ts";
import { defineTask } from "../../core/task.ts";
import { chainHandler } from "../../serve/chain-handler.ts";
import { openKeptChains } from "../../serve/kept-chains.ts";
import { openServeStore } from "../../serve/store/open-store.ts";
import { chatOf, openServedBestOf } from "../choose-best.ts";
import { defineCommand } from "../command.ts";
import { openChain } from "../open-chain.ts";
import { openOldSystem } from "../open-old-system.ts";
import { priceOf } from "../prices.ts";
import { runServer } from "../run-server.ts";
import { handlerOptions, portOptions } from "../serve-flags.ts";

export default defineCommand({
  name: "serve",
  summary:
    "Serve a model and its tools over OpenAI- and Anthropic-compatible APIs: chat completions, responses, completions, messages.",
  examples: [
    "coa serve --lab 7 --port 4242",
    "coa serve --base-url http://localhost:8000/v1 --profile web --api-key-file keys.txt --host 0.0.0.0",
    "coa serve --model .coa/quickstart/rl/model --port 0",
  ],
  options: {},
  reads: ["server", "serve", "model", "chain", "tools", "judge", "grader", "choose", "spending"],
  hides: ["bare", "max-usd", "tool-faults"],
  async run({ values, settings, out, signal, session }) {
    const { serve, model, chain } = settings;
    const port = await portOptions(settings.server);
    const old = await openOldSystem(settings, session);
    const opened = await openChain(settings, session);
    // A model of the lab has no tools outside a world: that is said now, not to the first client.
    opened.toolsOf(defineTask({ id: "of a client", question: "?" }));
    const bestOf = openServedBestOf(settings.choose, session, opened.profile, chatOf(opened.model));
    if (bestOf && model.temperature === 0)
      out.note("--best-of at temperature 0 runs the same chain each time: set --temperature, or let requests set it");
    const state = serve.state ?? (await openWorkspace()).path("serve");
    const store = session.closeAtEnd(await openServeStore(state, { sealKeyFile: serve.sealKeyFile }));
    await store.clean();
    const kept = serve.keep === undefined ? undefined : session.closeAtEnd(await openKeptChains(serve.keep));
    await opened.model.prepare?.(signal);
    const served = await chainHandler({
      ...handlerOptions(port),
      model: opened.model,
      profile: opened.profile,
      toolsOf: opened.toolsOf,
      name: serve.name,
      maxChains: serve.maxChains,
      maxQueue: serve.maxQueue,
      observations: serve.observations,
      showTools: serve.showTools,
      mcpTools: serve.mcpTools,
      store,
      media: serve.media,
      clientTools: serve.clientTools && serve.clientTools === "on",
      ...old,
      bestOf,
      ...(kept && { forget: kept.delete }),
      onTrajectory(trajectory, mayKeep) {
        // A chain that waits is kept when it has ended.
        if (!kept || !mayKeep || trajectory.pending) return;
        kept.append(trajectory).catch((error: Error) => out.note(`not kept: ${error.message}`));
      },
      defaults: {
        ...opened.defaults,
        enforcement: chain.enforcement,
        sampling: { temperature: model.temperature },
        prices: priceOf(settings.spending.price, opened.model.name),
      },
    });
    return await runServer(served, port, { out, signal, json: values.json });
  },
});
