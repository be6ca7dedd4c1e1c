/** A player of the playground over a real handler of `coa serve`, in this process. */
import { type ChainHandlerOptions, chainHandler } from "../../src/serve/chain-handler.ts";
import type { Player, PlayerAbout } from "../../src/studio/api/play-routes.ts";

/** The player; `about` is what it says of itself. */
export async function handlerPlayer(name: string, options: ChainHandlerOptions, about: PlayerAbout): Promise<Player> {
  const { fetch } = await chainHandler(options);
  const headers = { "content-type": "application/json" };
  return {
    name,
    about: async () => about,
    ask: (body, signal) =>
      fetch(new Request("http://localhost/v1/chains", { method: "POST", body: JSON.stringify(body), headers, signal })),
  };
}
