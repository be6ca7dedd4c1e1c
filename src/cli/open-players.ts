/**
 * The models of the studio's playground: folders and names are opened here when they are first asked, behind the same
 * handler as `coa serve`; addresses are servers that run already.
 */
import { readModelUse } from "../base/files/model-use-file.ts";
import { UsageError } from "../core/errors.ts";
import { worldTasks } from "../lab/world-tasks.ts";
import type { Player, PlayerAbout } from "../studio/api/play-routes.ts";
import type { Options, Values } from "./command.ts";
import { findModel } from "./find-model.ts";
import { type OpenChain, openChain } from "./open-chain.ts";
import type { Session } from "./session.ts";
import { list } from "./setting.ts";
import type { SectionName, Settings } from "./settings/index.ts";

export const playFlags = {
  model: list("A model for the playground, or the address of a running coa serve (its key: COA_API_KEY); repeat it for two side by side (default: the shipped one in a lab world)", { valueName: "folder|name|url", group: "model" }),
} as const satisfies Options; // biome-ignore format: one flag a line

export const playSections = ["model", "chain", "tools"] as const satisfies SectionName[];

type PlaySettings = Settings<(typeof playSections)[number]>;

const mostPlayers = 2;
const labSeed = 7;

/** Makes the players that flags name; none is opened yet. */
export function openPlayers(flags: Values<typeof playFlags>, settings: PlaySettings, session: Session): Player[] {
  const { model: named } = flags;
  if (named.length > mostPlayers)
    throw new UsageError(`the playground shows at most ${mostPlayers} models, not ${named.length}`);
  const [served, folders] = [named.filter(isAddress), named.filter((name) => !isAddress(name))];
  const locals = (named.length === 0 ? [undefined] : folders).map((model) => localPlayer(model, settings, session));
  const players = [...locals, ...served.map(servedPlayer)];
  if (new Set(players.map(({ name }) => name)).size < players.length)
    throw new UsageError(`give two different models, not ${players[0]!.name} twice`);
  return players;
}

/** A model that runs in this process from its first question on. */
function localPlayer(name: string | undefined, settings: PlaySettings, session: Session): Player {
  let opened: Promise<{ chain: OpenChain; fetch(request: Request): Promise<Response> }> | undefined;
  const open = async () => {
    const lab = settings.chain.lab ?? (await labOf(name, settings));
    const own = { ...settings, model: { ...settings.model, name }, chain: { ...settings.chain, lab } };
    const chain = await openChain(own, session);
    await chain.model.prepare?.(session.signal);
    const { chainHandler } = await import("../serve/chain-handler.ts");
    const { model: played, profile, toolsOf, defaults } = chain;
    const served = await chainHandler({ model: played, profile, toolsOf, defaults, maxChains: 4 });
    return { chain, fetch: served.fetch };
  };
  // One that could not be opened is tried again at the next question.
  const ready = () => {
    opened ??= open();
    return opened.catch((error) => {
      opened = undefined;
      throw error;
    });
  };
  return {
    name: name ?? "shipped",
    async about(): Promise<PlayerAbout> {
      const { chain } = await ready();
      const { world, profile } = chain;
      const tools = profile.tags.flatMap(({ tool }) => tool ?? []);
      const questions = world ? worldTasks(world, { count: 5, seed: 1 }).map(({ question }) => question) : [];
      return { model: chain.model.name, profile: profile.name, tools: [...new Set(tools)], questions };
    },
    async ask(body, signal) {
      const { fetch } = await ready();
      const headers = { "content-type": "application/json" };
      return fetch(
        new Request("http://localhost/v1/chains", { method: "POST", body: JSON.stringify(body), headers, signal }),
      );
    },
  };
}

/** The lab world of a model that was taught in the lab, unless tools or a profile are set. */
async function labOf(name: string | undefined, { model, chain, tools }: PlaySettings): Promise<number | undefined> {
  if (tools.names.length > 0 || chain.profile !== undefined) return undefined;
  if (name === undefined) return model.baseUrl === undefined ? labSeed : undefined;
  const found = await findModel({ ...model, name }, { lab: false });
  if (found.kind !== "folder") return undefined;
  return (await readModelUse(found.folder))?.world === "lab" ? labSeed : undefined;
}

const isAddress = (name: string) => /^https?:\/\//.test(name);

function servedPlayer(url: string): Player {
  const base = url.replace(/\/+$/, "").replace(/\/v1$/, "");
  const key = process.env["COA_API_KEY"];
  const headers = { "content-type": "application/json", ...(key && { authorization: `Bearer ${key}` }) };
  const send = (path: string, init: RequestInit) =>
    fetch(`${base}${path}`, { ...init, headers }).catch((error: Error) => {
      if (init.signal?.aborted) throw error;
      throw new UsageError(`no server answers at ${base}: start coa serve, or name another address`);
    });
  return {
    name: base,
    async about() {
      const response = await send("/v1/models", {});
      if (!response.ok)
        throw new UsageError(`${base} answers ${response.status}: is it coa serve, and is COA_API_KEY its key?`);
      const { data } = (await response.json()) as { data?: { id?: string }[] };
      return { model: data?.[0]?.id ?? base, tools: [], questions: [] };
    },
    ask: (body, signal) => send("/v1/chains", { method: "POST", body: JSON.stringify(body), signal }),
  };
}
