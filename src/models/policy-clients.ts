/** Models behind the addresses of trainers, each opened once: a trainer asks for the same policy in every batch. */
import type { Model } from "../core/model.ts";
import type { Tokenizer } from "../core/tokenizer.ts";
import { openaiCompatible } from "./openai-compatible.ts";

/**
 * This machine's own key, for an address that another machine named: only where the key's owner named that server too. `note`
 * is called where a key is withheld.
 */
export function ownKeyFor(
  baseURL: string,
  env: NodeJS.ProcessEnv = process.env,
  note?: (text: string) => void,
): string | undefined {
  const { OPENAI_BASE_URL: own, OPENAI_API_KEY: key } = env;
  const server = URL.parse(!own || own === "openai" ? "https://api.openai.com" : own);
  const { origin } = URL.parse(baseURL) ?? {};
  if (server !== null && server.origin === origin) return key;
  if (key) note?.(`OPENAI_API_KEY is not sent to ${origin ?? baseURL}, which the coordinator names: set OPENAI_BASE_URL to it if that server is yours`); // biome-ignore format: one note
  return undefined;
}

/** Opens policies by address, and closes them all. */
export interface PolicyClients {
  at(address: { baseURL: string; model?: string; apiKey?: string }): Model;
  close(): Promise<void>;
}

/**
 * Clients that speak token ids as vLLM does (`return_token_ids`, stop strings kept), or as each server says of itself with `ask`; the
 * least used are closed above `most`.
 */
export function openPolicyClients(
  tokenizer: Tokenizer,
  options: { contextWindow?: number; retries?: number; most?: number; ask?: boolean } = {},
): PolicyClients {
  const { most = 64, ask = false, ...rest } = options;
  const shared = { ...rest, tokenizer, mode: "completions" as const, ...(!ask && { server: "vllm" as const }) };
  const open = new Map<string, ReturnType<typeof openaiCompatible>>(); // the longest unused first
  return {
    // Without a key of the caller's none is sent: the one of this machine's environment is not the caller's to use.
    at({ baseURL, model = "policy", apiKey = "" }) {
      const key = JSON.stringify([baseURL, model, apiKey]);
      const known = open.get(key);
      const client = known ?? openaiCompatible({ ...shared, baseURL, model, apiKey });
      open.delete(key);
      open.set(key, client);
      const [oldest] = open;
      if (open.size > most && oldest) {
        open.delete(oldest[0]);
        void oldest[1].close();
      }
      return client;
    },
    close: async () => void (await Promise.all([...open.values()].map((client) => client.close()))),
  };
}
