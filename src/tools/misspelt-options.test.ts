import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as tools from "./index.ts";

/** Calls as a user might write them, each with one word wrong, as JavaScript lets them. */
const calls: Record<string, () => unknown> = {
  "crawlPage: did you mean maxCharacters": () => tools.crawlPage({ fetchPage: fail, maxCharacter: 5 } as never),
  "pageFetcher: did you mean allowHosts": () => tools.pageFetcher({ allowHost: ["a"] } as never),
  "politeFetch: did you mean robots": () => tools.politeFetch(fail, { robot: true } as never),
  "cachedFetch: did you mean maxAgeMs": () => tools.cachedFetch(fail, { maxAge: 5 } as never),
  "jinaReader: did you mean apiKey": () => tools.jinaReader({ apikey: "k" } as never),
  "summarisePage: did you mean maxTokens": () => tools.summarisePage({ model: {}, maxToken: 1 } as never),
  "codeTool: did you mean sandbox": () => tools.codeTool({ sandBox: {} } as never),
  "chooseSandbox: did you mean isolation": () => tools.chooseSandbox({ isolaton: "run" } as never),
  "pyodideSandbox: did you mean limits": () => tools.pyodideSandbox({ limit: {} } as never),
  "quickjsSandbox: did you mean warm": () => tools.quickjsSandbox({ warn: 1 } as never),
  "bubblewrapSandbox: did you mean diskMb": () => tools.bubblewrapSandbox({ diskMB: 1 } as never),
  "nsjailSandbox: did you mean path": () => tools.nsjailSandbox({ paht: "/x" } as never),
  "sandboxFusion: did you mean url": () => tools.sandboxFusion({ URL: "http://127.0.0.1:1" } as never),
  "buildIndex: did you mean titleBoost": () => tools.buildIndex([], { titleBost: 1 } as never),
  "webProvider: did you mean endpoint": () => tools.webProvider("serper", { keys: "k", endPoints: "x" } as never),
  "webSearch: did you mean count": () => tools.webSearch({ provider: {}, counts: 1 } as never),
  "cachedSearch: did you mean journal": () => tools.cachedSearch({} as never, { jurnal: {} } as never),
  "retrievalClient: did you mean url": () => tools.retrievalClient({ Url: "http://127.0.0.1:1" } as never),
  "visualInspector: did you mean baseURL": () => tools.visualInspector({ baseUrl: "http://127.0.0.1:1" } as never),
};

function fail(): never {
  throw new Error("nothing may be called");
}

describe("a misspelt option of a tool", () => {
  for (const [wanted, call] of Object.entries(calls)) {
    it(`is refused and the right one named: ${wanted}`, () => {
      const [name, hint] = wanted.split(": ");
      assert.throws(
        call,
        (error: Error) => error.message.startsWith(`${name} has no option`) && error.message.includes(hint!),
      );
    });
  }

  it("is refused by what answers later as well", async () => {
    await assert.rejects(
      tools.connectMcp({ url: "http://127.0.0.1:1" }, { prefx: "a" } as never),
      /did you mean prefix/,
    );
  });
});
