import { once } from "node:events";
import { existsSync } from "node:fs";
import { workspaceRoot } from "../../base/files/workspace.ts";
import { readyLine } from "../../base/http/listen.ts";
import { scoreTokens } from "../../base/work/score-tokens.ts";
import { UsageError } from "../../core/errors.ts";
import { playRoutes } from "../../studio/api/play-routes.ts";
import { serveStudio } from "../../studio/api/serve-studio.ts";
import { namedProfiles } from "../choose-profile.ts";
import { defineCommand } from "../command.ts";
import { openFile } from "../open-file.ts";
import { openPlayers, playFlags, playSections } from "../open-players.ts";
import { toggle, whole } from "../setting.ts";

export default defineCommand({
  summary:
    "Open what was recorded, distilled, trained and evaluated in a browser, on this machine alone, until Ctrl-C.",
  arguments: "[path …]",
  examples: [
    "coa studio",
    "coa studio .coa/quickstart-fast --port 4300",
    "coa studio traces.jsonl --no-open",
    "coa studio --model .coa/sft/model --model .coa/rl/model",
  ],
  options: {
    port: whole("Port; 0 for any free one", { default: 4300, min: 0, max: 65_535, valueName: "n" }),
    open: toggle("Open the browser (--no-open to only print the address)", { default: true, group: "output" }),
    ...playFlags,
  }, // biome-ignore format: one flag a line
  reads: playSections,
  async run({ values, settings, positionals, out, signal, session }) {
    const workspace = workspaceRoot();
    if (positionals.length === 0 && !existsSync(workspace)) {
      throw new UsageError(
        `${workspace} does not exist yet: run coa quickstart --fast, or name files: coa studio <path>`,
      );
    }
    const players = openPlayers(values, settings, session);
    const studio = await serveStudio({
      paths: positionals.length === 0 ? [workspace] : positionals,
      home: workspace,
      port: values.port,
      // The engine is loaded when two models are compared.
      score: async (folder, tokens) => {
        const { openEmbeddedEngine } = await import("../../engines/embedded/embedded-engine.ts");
        const engine = await openEmbeddedEngine({ folder });
        try {
          return [null, ...(await scoreTokens(engine, tokens))];
        } finally {
          await engine.close();
        }
      },
      profiles: namedProfiles,
      onBuild: out.note,
      more: (context) => playRoutes(context, players),
    });
    session.closeAtEnd(studio);
    if (values.json) out.json({ ready: studio.url });
    else out.print(readyLine(studio.url));
    if (values.open && out.isTTY) await openFile(studio.url, out.note);
    if (!signal.aborted) await once(signal, "abort");
    return 0;
  },
});
