/** The versions of the registry behind one server: `coa serve --model live` follows what is promoted, without a restart. */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { openWorkspace } from "../base/files/workspace.ts";
import { UsageError } from "../core/errors.ts";
import type { ChainHandlerOptions } from "../serve/chain-handler.ts";
import { openConversations } from "../switch/conversations.ts";
import { type OpenChain, openChain } from "./open-chain.ts";
import { openCascade } from "./open-old-system.ts";
import type { Session } from "./session.ts";
import type { Settings } from "./settings/index.ts";

type VersionSettings = Settings<"serve" | "model" | "chain" | "tools">;

/** The short name of a version's folder. */
export function versionName(workspace: string, folder: string): string {
  const name = relative(workspace, folder).replaceAll("\\", "/").replace(/\/model$/, ""); // biome-ignore format: one name
  return name.startsWith("..") ? folder : name;
}

/** Where `--model live` was given: the chain of the live model, and how the others are opened when they are needed. */
export async function openVersions(
  settings: VersionSettings,
  session: Session,
  defaults: (opened: OpenChain) => ChainHandlerOptions["defaults"],
): Promise<{ opened: OpenChain; versions: NonNullable<ChainHandlerOptions["versions"]> } | undefined> {
  if (settings.model.name !== "live" || existsSync("live")) return undefined;
  const { root, path } = await openWorkspace();
  const conversations = session.closeAtEnd(await openConversations(root, path("switch", "conversations.jsonl")));
  const { live } = await conversations.serving();
  if (live === undefined) throw new UsageError("no model is live: promote one with coa promote <model>");
  const open = (folder: string) => openChain({ ...settings, model: { ...settings.model, name: folder } }, session);
  const opened = await open(live);
  const folders = new Map<string, string>();
  return {
    opened,
    versions: {
      stickyBy: settings.serve.stickyBy,
      async versionOf(conversation) {
        const folder = (await conversations.versionOf(conversation)) ?? live;
        const name = versionName(root, folder);
        folders.set(name, folder);
        return name;
      },
      async open(version) {
        const folder = folders.get(version)!;
        const chain = folder === live ? opened : await open(folder);
        const { model, profile, toolsOf } = chain;
        await model.prepare?.(session.signal);
        const cascade = await openCascade(settings, folder, session);
        return { model, profile, toolsOf, defaults: defaults(chain), ...cascade };
      },
    },
  };
}
