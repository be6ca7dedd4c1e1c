/** `coa studio` as somebody starts it, for as long as a test needs it. */
import { main } from "../../src/cli/main.ts";
import { createOutput } from "../../src/cli/output.ts";
import type { Studio } from "../../src/studio/api/serve-studio.ts";

/** Runs the command with these arguments while `use` runs; the workspace is what COA_HOME names. */
export async function withStudio(
  args: readonly string[],
  use: (studio: Pick<Studio, "origin" | "token">) => Promise<void>,
): Promise<void> {
  const ready = Promise.withResolvers<string>();
  const out = createOutput({
    stdout: { write: (text: string) => ready.resolve((JSON.parse(text) as { ready: string }).ready) },
    stderr: { write: () => {} },
  });
  const stop = new AbortController();
  const done = main(["studio", ...args, "--port", "0", "--no-open", "--json"], out, stop.signal);
  done.then((code) => ready.reject(new Error(`coa studio ended with ${code}`)));
  try {
    const { origin, hash } = new URL(await ready.promise);
    await use({ origin, token: new URLSearchParams(hash.split("?")[1]).get("token")! });
  } finally {
    stop.abort();
    await done;
  }
}

/** Names a folder as the workspace; the returned function takes that back. */
export function useWorkspace(folder: string): () => void {
  const saved = process.env["COA_HOME"];
  process.env["COA_HOME"] = folder;
  return () => {
    if (saved === undefined) delete process.env["COA_HOME"];
    else process.env["COA_HOME"] = saved;
  };
}
