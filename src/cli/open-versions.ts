/** The versions of the registry behind one server: `coa serve --model live` follows what is promoted, without a restart. */
import { existsSync } from "node:fs";
import { relative } from "node:path";
import { openWorkspace } from "../base/files/workspace.ts";
import { messageOf, UsageError } from "../core/errors.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { defineTask } from "../core/task.ts";
import { modelFingerprint } from "../engines/embedded/files/model-fingerprint.ts";
import { openaiCompatible } from "../models/openai-compatible.ts";
import type { ChainHandlerOptions } from "../serve/chain-handler.ts";
import type { OldSystemOptions } from "../serve/old-system.ts";
import { openAudit } from "../switch/audit.ts";
import { readCascade } from "../switch/cascade.ts";
import { openConversations } from "../switch/conversations.ts";
import { shareOf } from "./commands/cascade-fit.ts";
import { openGrader } from "./commands/eval-grading.ts";
import { type OpenChain, openChain } from "./open-chain.ts";
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
        try {
          const cascade = await openCascade(settings, folder, session);
          const chain = folder === live ? opened : await open(folder);
          const { model, profile, toolsOf } = chain;
          await model.prepare?.(session.signal);
          return { model, profile, toolsOf, defaults: defaults(chain), ...cascade };
        } catch (error) {
          session.note(`version ${version} can't be opened, its conversations are refused: ${messageOf(error)}`);
          throw error;
        }
      },
    },
  };
}

/** Opens what the settings name, if they name one. The key is OPENAI_API_KEY. */
export async function openOldSystem(
  settings: Settings<"serve" | "judge" | "grader">,
  session: Session,
): Promise<OldSystemOptions> {
  const { shadow, fallback, oldModel } = settings.serve;
  const named = shadow ?? fallback;
  if (named === undefined) return {};
  if (shadow !== undefined && fallback !== undefined)
    throw new UsageError("--shadow answers every request, so --fallback would never be asked: give one of them");
  const where = /^https?:/.test(named) ? { baseURL: named, model: oldModel } : { model: named };
  const old = session.closeAtEnd(openaiCompatible(where));
  const kind = settings.judge.model === undefined ? "qa" : "judge";
  const { grader } = await openGrader(settings, session, [defineTask({ id: "shadow", question: "?", kind })]);
  const agree: OldSystemOptions["agree"] = async ({ id, question }, answer, ours) =>
    (await grader(defineTask({ id, question, answers: [answer], kind }), ours)).correct;
  return { ...(fallback === undefined ? { shadow: old } : { fallback: old }), agree };
}

/** The cascade of a model's folder, with its audit; the promise is for these weights and this temperature alone. */
export async function openCascade(
  { serve, model }: Settings<"serve" | "model">,
  folder: string | undefined,
  session: Session,
): Promise<Pick<OldSystemOptions, "cascade">> {
  if (!serve.cascade) return {};
  const cascade = folder === undefined ? undefined : await readCascade(folder);
  if (!cascade || folder === undefined)
    throw new UsageError("the model's folder has no cascade.json: fit one with coa cascade fit");
  if ((await modelFingerprint(folder)) !== cascade.model)
    throw new UsageError(`the cascade in ${folder} was fitted for other weights: fit it again`);
  if (model.temperature !== cascade.temperature)
    throw new UsageError(`the cascade was fitted at temperature ${cascade.temperature}: serve with --temperature ${cascade.temperature}`); // biome-ignore format: one refusal
  const name = fingerprint(JSON.stringify(cascade));
  const file = (await openWorkspace()).path("switch", "audit.jsonl");
  const audit = session.closeAtEnd(await openAudit(cascade, { name, share: shareOf(serve.audit, "--audit"), file }));
  return {
    cascade: {
      cascade,
      audit,
      name,
      whenDown: serve.whenDown,
      perHour: serve.maxEscalations,
      onAlert: ({ kind, audited, differing, bound }) =>
        session.note(`ALERT: of ${audited} audited answers ${differing} differ from the old system, the promise allows ${(100 * bound).toFixed(1)} %: questions of the kind "${kind}" now go to the old system`), // biome-ignore format: one sentence
    },
  };
}
