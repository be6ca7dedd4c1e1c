/** The tools of a team that works on the real web or on an index of your own, put together from flags. */
import { UsageError } from "../../core/errors.ts";
import type { Tool } from "../../core/tool.ts";
import { codeTool } from "../../tools/code.ts";
import { crawlPage } from "../../tools/crawl/crawl-page.ts";
import { pageFetcher } from "../../tools/crawl/fetch-page.ts";
import { openIndex } from "../../tools/local-index/open-index.ts";
import { chooseSandbox } from "../../tools/sandbox/choose-sandbox.ts";
import { indexProvider } from "../../tools/search/index-provider.ts";
import { webProviderFromEnvironment, webProviderVariables } from "../../tools/search/web-providers.ts";
import { webSearch } from "../../tools/search/web-search.ts";
import type { Options } from "../command.ts";

/** Flags of tools. */
export const toolFlags = {
  index: { type: "string", valueName: "folder", describe: "Search this local index instead of the web" },
  "allow-host": { type: "string", multiple: true, valueName: "host", describe: "A private host that may be read" },
} as const satisfies Options;

export interface TeamTools {
  tools: Tool[];
  /** How code is contained here, in a sentence. */
  sandbox: string;
  close(): Promise<void>;
}

/** Search (the index, or the service whose key is set), pages and programs. */
export async function openTeamTools(values: { index?: string; "allow-host"?: string[] }): Promise<TeamTools> {
  const index = values.index === undefined ? undefined : await openIndex(values.index);
  const provider = index ? indexProvider(index) : webProviderFromEnvironment(process.env);
  if (!provider) {
    const variables = Object.values(webProviderVariables()).flat().join(", ");
    throw new UsageError(`nothing to search with: give --index <folder>, or set one of ${variables}`);
  }
  const fetcher = pageFetcher({ allowHosts: values["allow-host"] });
  const sandbox = chooseSandbox();
  return {
    tools: [webSearch({ provider }), crawlPage({ fetchPage: fetcher.fetchPage }), codeTool({ sandbox })],
    sandbox: [`${sandbox.level.kind}, ${sandbox.level.strength}`, ...sandbox.level.caveats].join("; "),
    async close() {
      await Promise.all([fetcher.close(), sandbox.close(), index?.close()]);
    },
  };
}
