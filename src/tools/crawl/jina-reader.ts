/** Pages read by the Jina Reader service, which renders scripts and returns text; an alternative to fetching ourselves. */
import { CoaError } from "../../core/errors.ts";
import type { FetchPage } from "./fetch-page.ts";
import { checkUrl } from "./host-policy.ts";

export interface JinaReaderOptions {
  /** `JINA_API_KEY`; without a key the service allows about 20 pages a minute. */
  apiKey?: string;
  endpoint?: string;
  timeoutSeconds?: number;
  tokenBudget?: number;
  maxBytes?: number;
}

/** A fetcher that asks Jina Reader for each page. Private addresses are refused here too. */
export function jinaReader(options: JinaReaderOptions = {}): FetchPage {
  const { apiKey, endpoint = "https://r.jina.ai/", timeoutSeconds = 30, tokenBudget = 80_000 } = options;
  return async (address, { signal }) => {
    const checked = checkUrl({}, address);
    if ("refusal" in checked) throw new CoaError("network", checked.refusal);
    const response = await fetch(`${endpoint}${checked.url.href}`, {
      headers: {
        "x-engine": "browser",
        "x-return-format": "markdown",
        "x-timeout": String(timeoutSeconds),
        "x-token-budget": String(tokenBudget),
        "x-retain-images": "none",
        ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
      },
      signal: AbortSignal.any([signal, AbortSignal.timeout((timeoutSeconds + 10) * 1000)]),
    });
    const body = new Uint8Array(await response.arrayBuffer()).subarray(0, options.maxBytes ?? 10_000_000);
    return {
      url: checked.url.href,
      status: response.status,
      contentType: "text/plain; charset=utf-8",
      body,
      truncated: false,
    };
  };
}
