import { openWorkspace } from "../../base/files/workspace.ts";
import { defineTask } from "../../core/task.ts";
import { chainHandler } from "../../serve/chain-handler.ts";
import { openKeptChains } from "../../serve/kept-chains.ts";
import { openServeStore } from "../../serve/store/open-store.ts";
import { defineCommand } from "../command.ts";
import { type OpenChain, openChain } from "../open-chain.ts";
import { openCascade, openOldSystem, openVersions } from "../open-versions.ts";
import { portOptions, runServer } from "../serve-flags.ts";
import { priceOf } from "../spending.ts";

export default defineCommand({
  summary:
    "Serve a model and its tools over OpenAI- and Anthropic-compatible APIs: chat completions, responses, completions, messages.",
  examples: [
    "coa serve --lab 7 --port 4242",
    "coa serve --base-url http://localhost:8000/v1 --profile web --api-key-file keys.txt --host 0.0.0.0",
    "coa serve --model .coa/quickstart/rl/model --fallback http://localhost:9000/v1 --cascade",
  ],
  options: {},
  reads: ["server", "serve", "model", "chain", "tools", "judge", "grader", "spending"],
  hides: ["bare", "judge", "max-usd", "recorded", "tool-faults"],
  async run({ values, settings, out, signal, session }) {
    const { serve, model, chain } = settings;
    const port = await portOptions(settings.server);
    const old = await openOldSystem(settings, session);
    const defaultsOf = ({ defaults, model: own }: OpenChain) => ({
      ...defaults,
      enforcement: chain.enforcement,
      sampling: { temperature: model.temperature, entropies: serve.cascade || undefined },
      prices: priceOf(settings.spending.price, own.name),
    });
    const followed = await openVersions(settings, session, defaultsOf);
    const opened = followed?.opened ?? (await openChain(settings, session));
    // A model of the lab has no tools outside a world: that is said now, not to the first client.
    opened.toolsOf(defineTask({ id: "of a client", question: "?" }));
    const cascade = await openCascade(settings, opened.folder, session);
    const workspace = await openWorkspace();
    const state = serve.state ?? workspace.path("serve");
    const store = session.closeAtEnd(await openServeStore(state));
    await store.clean();
    const annotations = workspace.path("annotations.jsonl"); // where the studio's review finds what users say
    const kept =
      serve.keep === undefined ? undefined : session.closeAtEnd(await openKeptChains(serve.keep, annotations));
    await opened.model.prepare?.(signal);
    const served = await chainHandler({
      ...port.handler,
      model: opened.model,
      profile: opened.profile,
      toolsOf: opened.toolsOf,
      name: serve.name,
      maxChains: serve.maxChains,
      maxQueue: serve.maxQueue,
      showTools: serve.showTools,
      store,
      media: serve.media,
      clientTools: serve.clientTools && serve.clientTools === "on",
      ...old,
      ...cascade,
      ...(followed && { versions: followed.versions }),
      ...(kept && { forget: kept.delete, annotate: kept.annotate }),
      onTrajectory(trajectory, mayKeep) {
        // A chain that waits is kept when it has ended.
        if (!kept || !mayKeep || trajectory.pending) return;
        kept.append(trajectory).catch((error: Error) => out.note(`not kept: ${error.message}`));
      },
      defaults: defaultsOf(opened),
    });
    return await runServer(served, port, { out, signal, json: values.json });
  },
});
